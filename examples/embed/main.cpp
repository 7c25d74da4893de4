// SPDX-License-Identifier: Apache-2.0
//
// libjobcore inside a scheduler that is not Kubernetes: this program keeps its own processes, asks
// the library what to do, does it, and tells it what it sees. Three jobs, one of each kind, go
// through a broken process, a change of size and a pause. Time is virtual.
#include <jobcore/children.hpp>
#include <jobcore/decide.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace core = signalbox::core;

namespace {

/// What a user may change while the job runs.
struct wishes {
    int workers = 2;
    bool pause = false;
};

/// The specification of a job, by what its user wishes.
using spec_text = std::function<std::string(const wishes&)>;

/// The template of a pod with one container.
std::string pod(const std::string& container) {
    return R"("template": {"spec": {"containers": [{"image": "train:1", )" + container + "}]}}";
}

std::string pause_text(const wishes& w) {
    return R"("runMode": {"pause": {"enabled": )" + std::string(w.pause ? "true" : "false") + "}}";
}

std::string elastic_text(const wishes& w) {
    return R"("elastic": {"enabled": true, "minReplicas": 1, "maxReplicas": 4, "expectedReplicas": )" +
           std::to_string(w.workers) + "}";
}

std::string torchrun_spec(const wishes& w) {
    return "{" + pause_text(w) + ", " + elastic_text(w) +
           R"(, "torchrunConfig": {"enabled": true, "maxRestarts": 3},
             "runPolicy": {"backoffLimit": 2, "cleanUpPolicy": "All"},
             "replicaSpecs": [{"type": "node", )" +
           pod(R"("name": "pytorch", "args": ["train.py"])") + "}]}";
}

std::string deepspeed_spec(const wishes& w) {
    return "{" + pause_text(w) + ", " + elastic_text(w) +
           R"(, "config": {"run": {"python": ["train.py"]}},
             "runPolicy": {"backoffLimit": 2, "cleanUpPolicy": "All"}, "worker": {)" +
           pod(R"("name": "worker")") + "}}";
}

std::string colossalai_spec(const wishes& w) {
    return "{" + pause_text(w) + R"(, "runPolicy": {"cleanUpWorkers": true},
             "worker": {"replicas": 2, "command": ["train.py"], )" +
           pod(R"("name": "worker")") + "}}";
}

/// One job and the processes that this scheduler runs for it. A process starts after a second and
/// needs 100 s, unless somebody breaks it; one that runs sshd for others never ends by itself.
class farm {
public:
    farm(std::string kind, spec_text spec) : kind_(std::move(kind)), spec_(std::move(spec)) {
        take(wishes());
    }

    /// The user edits the specification.
    void take(const wishes& wanted) {
        std::string text = R"({"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": ")" + kind_ +
                           R"(", "metadata": {"name": "job", "namespace": "farm", "uid": "job-1",
                           "generation": )" +
                           std::to_string(++generation_) + R"(}, "spec": )" + spec_(wanted) + "}";
        auto read = job_.compiled ? core::read_again(text, job_) : core::read_job(text);
        if (!read) {
            throw std::runtime_error("the job cannot be read: " + read.error());
        }
        job_ = *std::move(read);
        settle();
    }

    /// One of the processes exits with 1.
    void break_process(const std::string& part_of_name) {
        const auto broken = std::ranges::find_if(children_.pods, [&](const core::pod_record& p) {
            return p.name.find(part_of_name) != p.name.npos;
        });
        if (broken == children_.pods.end()) {
            throw std::runtime_error("no process " + part_of_name);
        }
        say(broken->name + " breaks");
        core::note_end(*broken, 1, now_);
        settle();
    }

    /// Lets time pass, from one thing that happens to the next.
    void run(core::seconds duration) {
        const core::instant until = now_ + duration;
        while (now_ < until) {
            now_ = next_moment(until);
            for (core::pod_record& p : children_.pods) {
                advance(p);
            }
            settle();
        }
    }

    /// Nothing is left to do, now or later.
    bool is_at_rest() {
        const core::decision d = decide();
        return core::is_final(job_.status.phase) && !d.status && d.stages.empty() && !d.wake_up;
    }
    const core::job_status& status() const { return job_.status; }

private:
    core::decision decide() { return core::decide(job_, children_.seen(), core::policy(), now_); }

    /// Decides until there is nothing to do but wait.
    void settle() {
        for (int passes = 0; passes < 50; ++passes) {
            const core::decision d = decide();
            if (d.status) {
                store(*d.status);
            }
            for (const core::event& e : d.events) {
                say(e.reason + ": " + e.message);
            }
            const auto done =
                children_.carry_out(job_, d, now_, [&](const core::action& a) { return act(a); });
            if (done == core::progress::nothing && !d.status) {
                wake_up_ = d.wake_up;
                return;
            }
        }
        throw std::runtime_error("the decisions do not come to rest");
    }

    /// A real scheduler writes it to its database: it is the library's only memory.
    void store(const core::job_status& status) {
        if (status.phase != job_.status.phase) {
            say("the job is " + std::string(core::to_string(status.phase)));
        }
        job_.status = status;
    }

    /// The command, the environment and the files of a process are in
    /// `core::render_action(job_, d, a)`; this farm only pretends.
    core::job_children::done act(const core::action& a) {
        if (a.kind == core::object_kind::pod) {
            say(std::string(core::to_string(a.what())) + ' ' + a.name + ": " + a.why);
        }
        return {"object-" + std::to_string(++made_)};
    }

    core::instant next_moment(core::instant until) const {
        core::instant next = until;
        const auto consider = [&](core::instant t) {
            if (t > now_) {
                next = std::min(next, t);
            }
        };
        if (wake_up_) {
            consider(*wake_up_);
        }
        for (const core::pod_record& p : children_.pods) {
            consider(starts(p));
            consider(ends(p).value_or(until));
        }
        return next;
    }

    static core::instant starts(const core::pod_record& p) {
        return *p.creation + core::seconds(1);
    }
    std::optional<core::instant> ends(const core::pod_record& p) const {
        const auto& types = job_.compiled->plan->types;
        const auto type = std::ranges::find(types, p.type, &core::type_plan::name);
        const bool sshd = type != types.end() && type->serves(p.index);
        return sshd ? std::nullopt : std::optional(starts(p) + core::seconds(100));
    }

    void advance(core::pod_record& p) const {
        if (p.phase == core::pod_phase::pending && now_ >= starts(p)) {
            core::note_start(p, now_);
        }
        if (p.phase == core::pod_phase::running && now_ >= ends(p).value_or(core::instant::max())) {
            core::note_end(p, 0, now_);
        }
    }

    void say(const std::string& what) const {
        std::cout << std::chrono::floor<core::seconds>(now_.time_since_epoch()).count() << " s  "
                  << what << '\n';
    }

    std::string kind_;
    spec_text spec_;
    core::job_object job_;
    core::job_children children_;
    core::instant now_{};
    std::optional<core::instant> wake_up_;
    int generation_ = 0;
    int made_ = 0;
};

bool expect(bool holds, const std::string& what) {
    if (!holds) {
        std::cout << "NOT SO: " << what << '\n';
    }
    return holds;
}

bool ended_well(farm& f) {
    return expect(f.status().phase == core::job_phase::succeeded, "the job has succeeded") &&
           expect(f.is_at_rest(), "nothing is left to do");
}

/// A process that breaks, two more of them, a pause, and the end.
bool run_elastic(const std::string& kind, const spec_text& spec) {
    std::cout << "-- " << kind << '\n';
    farm f(kind, spec);
    f.run(core::seconds(20));
    f.break_process("-1");
    f.run(core::seconds(40));
    bool good = expect(f.status().backoff_count == 1, "the broken process has cost one restart");
    f.take({.workers = 4});
    f.run(core::seconds(20));
    good = expect(f.status().replicas == 4, "four processes are wanted") && good;
    f.take({.workers = 4, .pause = true});
    f.run(core::seconds(20));
    good = expect(f.status().phase == core::job_phase::paused, "the job is paused") && good;
    f.take({.workers = 4});
    f.run(core::seconds(600));
    return ended_well(f) && good;
}

/// Colossal-AI restarts nothing: what breaks ends the job. It has a pause all the same.
bool run_colossalai(bool breaks) {
    std::cout << "-- ColossalAIJob" << (breaks ? " that breaks" : "") << '\n';
    farm f("ColossalAIJob", colossalai_spec);
    f.run(core::seconds(20));
    if (breaks) {
        f.break_process("launcher");
        return expect(f.status().phase == core::job_phase::failed, "the job has failed") &&
               expect(f.is_at_rest(), "nothing is left to do");
    }
    f.take({.pause = true});
    f.run(core::seconds(20));
    const bool paused = expect(f.status().phase == core::job_phase::paused, "the job is paused");
    f.take({});
    f.run(core::seconds(600));
    return ended_well(f) && paused;
}

}  // namespace

int main() try {
    bool good = run_elastic("PyTorchTrainingJob", torchrun_spec);
    good = run_elastic("DeepSpeedJob", deepspeed_spec) && good;
    good = run_colossalai(false) && good;
    good = run_colossalai(true) && good;
    return good ? 0 : 1;
} catch (const std::exception& error) {
    std::cout << "NOT SO: " << error.what() << '\n';
    return 1;
}
