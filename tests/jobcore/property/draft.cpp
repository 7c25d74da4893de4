// SPDX-License-Identifier: Apache-2.0
#include "property/draft.hpp"

#include "signalbox_test/jobcore_builders.hpp"

#include <algorithm>
#include <string_view>

namespace signalbox::test {
namespace {

using core::job_kind;

constexpr const char* restart_policies[] = {"OnFailure", "Never", "Always", "ExitCode"};
constexpr const char* clean_up_policies[] = {"\"All\"", "\"Unfinished\"", "\"None\""};
constexpr const char* deepspeed_configs[] = {
    R"({"run":{"python":["train.py"]}})",
    R"({"customCommand":"deepspeed train.py"})",
    R"({"run":{"module":["m"]},"otherArgs":["--no_ssh"],"slotsPerWorker":2})",
};

/// Members of an object, put together with commas.
class members {
public:
    members& add(std::string_view key, std::string_view value) {
        text_ += (text_.empty() ? "\"" : ",\"") + std::string(key) + "\":" + std::string(value);
        return *this;
    }
    std::string object() const { return "{" + text_ + "}"; }

private:
    std::string text_;
};

std::string number(int n) {
    return std::to_string(n);
}
std::string flag(bool b) {
    return b ? "true" : "false";
}

std::string pod_template(std::string_view container, std::string_view program = {}) {
    return R"({"spec":{"containers":[{"name":")" + std::string(container) + R"(","image":"i:1")" +
           std::string(program) + "}]}}";
}

std::string elastic_json(const draft::elastic_range& e) {
    members m;
    m.add("enabled", "true").add("minReplicas", number(e.min)).add("maxReplicas", number(e.max));
    if (e.expected) {
        m.add("expectedReplicas", number(*e.expected));
    }
    return m.object();
}

std::string mode_json(const draft& job) {
    members pause;
    pause.add("enabled", flag(job.pause));
    if (job.resume_specs) {
        const std::string type = job.kind == job_kind::colossalai ? "launcher" : "master";
        const bool named = std::ranges::any_of(job.types, [&](const draft::replica_type& t) {
            return t.name == type && t.replicas == 0;
        });
        pause.add(
            "resumeSpecs",
            named ? "[]" : "[{\"type\":" + quoted(type) + ",\"command\":[\"python\",\"again.py\"]}]"
        );
    }
    return members()
        .add("debug", members().add("enabled", flag(job.debug)).object())
        .add("pause", pause.object())
        .object();
}

void add_pytorch(const draft& job, members& spec) {
    // torchrun is the command itself; in plain mode the user's is.
    const char* program = job.rdzv_backend.empty() ? R"(,"command":["python","train.py"])"
                                                   : R"(,"args":["train.py"])";
    std::string list;
    for (const auto& t : job.types) {
        members entry;
        entry.add("type", quoted(t.name)).add("replicas", number(t.replicas));
        entry.add("restartPolicy", quoted(t.restart)).add("scalingWeight", number(t.weight));
        entry.add("template", pod_template("pytorch", program));
        list += (list.empty() ? "" : ",") + entry.object();
    }
    spec.add("replicaSpecs", "[" + list + "]");
    if (!job.rdzv_backend.empty()) {
        members run;
        run.add("enabled", "true").add("maxRestarts", number(job.max_restarts));
        run.add("rdzvBackend", quoted(job.rdzv_backend));
        if (job.rdzv_backend.starts_with("etcd")) {
            run.add("extraOptions", R"(["--rdzv_endpoint=etcd:2379"])");
        }
        spec.add("torchrunConfig", run.object());
    }
    if (job.tensorboard) {
        spec.add(
            "tensorboardSpec", R"({"image":"tb:1","trainingLogFilesets":["t9k://pvc/logs/run"]})"
        );
    }
}

void add_deepspeed(const draft& job, members& spec) {
    const auto& t = job.types.front();
    members worker;
    worker.add("replicas", number(t.replicas)).add("restartPolicy", quoted(t.restart));
    worker.add("template", pod_template("worker"));
    spec.add("config", job.config).add("worker", worker.object());
}

void add_colossalai(const draft& job, members& spec) {
    members worker;
    worker.add("replicas", number(job.types.front().replicas)).add("command", R"(["train.py"])");
    worker.add("template", pod_template("worker"));
    spec.add("launcher", R"({"image":"i:1"})").add("worker", worker.object());
}

draft::elastic_range draw_elastic(dice& d) {
    draft::elastic_range e;
    e.min = d.between(1, 3);
    e.max = e.min + d.roll(4);
    if (!d.once_in(3)) {
        e.expected = d.between(e.min, e.max);
    }
    return e;
}

void draw_pytorch(draft& job, dice& d) {
    constexpr const char* names[] = {"node", "worker", "extra"};
    constexpr const char* backends[] = {"c10d", "c10d", "c10d", "static", "etcd"};
    const int types = d.between(1, 3);
    for (int i = 0; i < types; ++i) {
        job.types.push_back({names[i], d.roll(4), d.one_of(restart_policies), d.roll(3)});
    }
    job.types.back().replicas = std::max(job.types.back().replicas, 1);
    job.types.back().weight = std::max(job.types.back().weight, 1);
    if (!d.once_in(3)) {
        job.rdzv_backend = d.one_of(backends);
        job.max_restarts = d.roll(3);
    }
    if (!job.rdzv_backend.empty() && job.rdzv_backend != "static" && d.once_in(2)) {
        job.elastic = draw_elastic(d);
    }
    job.tensorboard = d.once_in(6);
}

void draw_run_policy(draft& job, dice& d) {
    auto& p = job.run_policy;
    if (job.kind == job_kind::colossalai) {
        p["cleanUpWorkers"] = flag(d.once_in(2));
    } else {
        p["backoffLimit"] = number(d.roll(4));
        p["cleanUpPolicy"] = d.one_of(clean_up_policies);
        if (d.once_in(4)) {
            p["failurePolicy"] = "\"Master\"";
        }
        if (d.once_in(5)) {
            p["restartScope"] = d.once_in(2) ? "\"Job\"" : "\"Replica\"";
        }
    }
    if (d.once_in(4)) {
        p["activeDeadlineSeconds"] = number(50 + d.roll(500));
    }
    if (d.once_in(6)) {
        p["ttlSecondsAfterFinished"] = number(d.roll(100));
    }
}

}  // namespace

std::string draft::json() const {
    members spec;
    members policy;
    for (const auto& [key, value] : run_policy) {
        policy.add(key, value);
    }
    spec.add("runPolicy", policy.object()).add("runMode", mode_json(*this));
    if (gang) {
        spec.add("scheduler", scheduler);
    }
    if (elastic) {
        spec.add("elastic", elastic_json(*elastic));
    } else if (noted) {
        spec.add("elastic", members().add("expectedReplicas", number(*noted)).object());
    }
    if (kind == job_kind::pytorch) {
        add_pytorch(*this, spec);
    } else if (kind == job_kind::deepspeed) {
        add_deepspeed(*this, spec);
    } else {
        add_colossalai(*this, spec);
    }
    if (broken) {
        spec.add("managedBy", "7");
    }
    const auto texts = [](const std::map<std::string, std::string>& of) {
        members out;
        for (const auto& [key, value] : of) {
            out.add(key, quoted(value));
        }
        return out.object();
    };
    members metadata;
    metadata.add("name", quoted(name)).add("namespace", "\"default\"");
    metadata.add("uid", "\"cffea855-5ce2-496a-8956-f6e76fe2f565\"").add("resourceVersion", "\"1\"");
    metadata.add("generation", std::to_string(generation));
    metadata.add("creationTimestamp", quoted(core::format_time(story_start)));
    metadata.add("annotations", texts(annotations)).add("labels", texts(labels));
    return members()
        .add("apiVersion", quoted(core::api_version))
        .add("kind", quoted(core::to_string(kind)))
        .add("metadata", metadata.object())
        .add("spec", spec.object())
        .object();
}

int draft::backoff_limit() const {
    const auto it = run_policy.find("backoffLimit");
    return it == run_policy.end() ? 3 : std::stoi(it->second);
}

draft draw_job(dice& d) {
    draft job;
    const int which = d.roll(6);
    if (which < 3) {
        draw_pytorch(job, d);
    } else if (which == 3 || which == 4) {
        job.kind = job_kind::deepspeed;
        job.types.push_back({"worker", d.between(1, 4), d.one_of(restart_policies), 1});
        job.config = d.one_of(deepspeed_configs);
        if (d.once_in(3)) {
            job.elastic = draw_elastic(d);
        }
    } else {
        job.kind = job_kind::colossalai;
        job.types.push_back({"worker", d.between(1, 4), "", 1});
    }
    draw_run_policy(job, d);
    job.gang = d.once_in(4);
    job.debug = d.once_in(10);
    job.resume_specs = d.once_in(4);
    if (d.once_in(8)) {
        job.annotations["batch.tensorstack.dev/stuck-after"] = d.once_in(2) ? "0" : "30";
    }
    dice aside = d;  // so that the rest of each story stays what it was
    if (!job.elastic && aside.once_in(3)) {
        job.noted = aside.between(1, 9);
    }
    return job;
}

}  // namespace signalbox::test
