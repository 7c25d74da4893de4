// SPDX-License-Identifier: Apache-2.0
//
// libjobcore inside a scheduler that is not Kubernetes: this program keeps its own table of
// processes, asks the library what to do, does it, and tells it what it sees. Time is virtual.
#include <jobcore/decide.hpp>

#include <algorithm>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace core = signalbox::core;

namespace {

// The job as a user would write it, with the identity that a server gives. Any unique text is a
// UID.
constexpr const char* job_text = R"({
  "apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "PyTorchTrainingJob",
  "metadata": {"name": "mnist", "namespace": "farm", "uid": "job-1", "generation": 1},
  "spec": {
    "runPolicy": {"backoffLimit": 2, "cleanUpPolicy": "All"},
    "replicaSpecs": [
      {"type": "master", "template": {"spec": {"containers": [{"name": "pytorch", "image": "train:1"}]}}},
      {"type": "worker", "replicas": 2,
       "template": {"spec": {"containers": [{"name": "pytorch", "image": "train:1"}]}}}
    ]}})";

/// What this scheduler runs. The record is the library's view of it.
struct process {
    core::pod_record record;
    core::instant starts;
    core::instant ends;
    int exit_code = 0;
};

class farm {
public:
    explicit farm(core::instant start) : now_(start), start_(start) {
        std::string error;
        auto job = core::read_job(job_text, nullptr, error);
        if (!job || !job->compiled->plan) {
            throw std::runtime_error("the job cannot be read: " + error);
        }
        job_ = std::move(*job);
    }

    /// Until the job has ended and nothing is left to do.
    core::job_phase run() {
        while (true) {
            const core::decision decided = decide();
            const bool acted = carry_out(decided);
            if (acted || decided.status) {
                continue;  // what was done is seen at once
            }
            if (core::is_final(job_.status.phase) || !wait(decided.wake_up)) {
                return job_.status.phase;
            }
        }
    }

private:
    core::decision decide() const {
        std::vector<const core::pod_record*> pods;
        for (const process& p : processes_) {
            pods.push_back(&p.record);
        }
        std::vector<const core::child_record*> others;
        for (const core::child_record& c : others_) {
            others.push_back(&c);
        }
        core::observed seen;
        seen.pods = pods;
        seen.children = others;
        return core::decide(job_, seen, core::policy(), now_);
    }

    /// The status first, then the stages in their order. True if anything was done.
    bool carry_out(const core::decision& decided) {
        if (decided.status) {
            if (decided.status->phase != job_.status.phase) {
                say("the job is " + std::string(core::to_string(decided.status->phase)));
            }
            job_.status = *decided.status;  // a real scheduler stores it: it is the engine's memory
        }
        for (const core::event& e : decided.events) {
            say(e.reason + ": " + e.message);
        }
        bool acted = false;
        for (const core::stage& actions : decided.stages) {
            for (const core::action& a : actions) {
                if (a.not_before && *a.not_before > now_) {
                    return acted;  // held: so are the stages after it
                }
                act(a);
                acted = true;
            }
        }
        return acted;
    }

    void act(const core::action& a) {
        switch (a.what()) {
            case core::verb::create:
                a.kind == core::object_kind::pod ? start(a) : note(a);
                break;
            case core::verb::remove:
                say("stops " + a.name + ": " + a.why);
                processes_.remove_if([&](const process& p) { return p.record.uid == a.uid; });
                others_.remove_if([&](const core::child_record& c) { return c.uid == a.uid; });
                break;
            case core::verb::patch:  // a Service follows the attempt
                others_.remove_if([&](const core::child_record& c) { return c.uid == a.uid; });
                note(a);
                break;
            case core::verb::confirm:  // nothing vanishes here
                break;
        }
    }

    /// The command, environment and so on of the process are in core::render_action(job_, a).
    void start(const core::action& a) {
        const core::role_plan& role = job_.compiled->plan->roles[a.pod.role];
        process p;
        p.record.name = a.name;
        p.record.uid = "process-" + std::to_string(++made_);
        p.record.owner_uid = job_.meta.uid;
        p.record.type = role.type;
        p.record.index = a.pod.index;
        p.record.attempt = a.pod.attempt;
        p.record.round = a.pod.round;
        p.record.labels_complete = true;
        p.record.phase = core::pod_phase::pending;
        p.record.creation = now_;
        core::container_record training;
        training.name = role.training_container;
        training.state = core::container_state::waiting;
        p.record.containers.push_back(training);
        // Worker 1 of the first attempt breaks after 20 s; all others need a minute.
        const bool breaks = role.type == "worker" && a.pod.index == 1 && a.pod.attempt == 1;
        p.starts = now_ + core::seconds(1);
        p.ends = p.starts + core::seconds(breaks ? 20 : 60);
        p.exit_code = breaks ? 1 : 0;
        say("starts " + a.name + ": " + a.why);
        processes_.push_back(std::move(p));
    }

    /// This farm needs no Services: it says that they are there, as they are wanted.
    void note(const core::action& a) {
        const core::job_plan& plan = *job_.compiled->plan;
        core::child_record c;
        c.kind = a.kind;
        c.name = a.name;
        c.uid = "object-" + std::to_string(++made_);
        c.owner_uid = job_.meta.uid;
        c.fingerprint = core::expected_fingerprint(
            plan, *core::find_object(plan, a.object), a.pod.attempt, core::render_options()
        );
        others_.push_back(std::move(c));
    }

    /// Lets time pass to the next thing that happens. False if nothing ever will.
    bool wait(std::optional<core::instant> wake_up) {
        std::optional<core::instant> next;
        const auto consider = [&](core::instant t) {
            if (t > now_ && (!next || t < *next)) {
                next = t;
            }
        };
        if (wake_up) {
            consider(*wake_up);
        }
        for (const process& p : processes_) {
            consider(p.starts);
            consider(p.ends);
        }
        if (!next) {
            return false;
        }
        now_ = *next;
        for (process& p : processes_) {
            advance(p);
        }
        return true;
    }

    void advance(process& p) {
        core::container_record& c = p.record.containers.front();
        if (now_ >= p.starts && c.state == core::container_state::waiting) {
            c.state = core::container_state::running;
            c.started = p.starts;
            p.record.phase = core::pod_phase::running;
            p.record.scheduled = true;
            p.record.ready = true;
        }
        if (now_ >= p.ends && c.state == core::container_state::running) {
            c.state = core::container_state::terminated;
            c.exit_code = p.exit_code;
            c.finished = p.ends;
            p.record.ready = false;
            p.record.phase =
                p.exit_code == 0 ? core::pod_phase::succeeded : core::pod_phase::failed;
        }
    }

    void say(const std::string& what) const {
        const auto passed = std::chrono::floor<core::seconds>(now_ - start_).count();
        std::cout << passed << " s  " << what << '\n';
    }

    core::job_object job_;
    core::instant now_;
    core::instant start_;
    std::list<process> processes_;
    std::list<core::child_record> others_;
    int made_ = 0;
};

}  // namespace

int main() {
    farm f(*core::parse_time("2026-01-31T12:00:00Z"));
    return f.run() == core::job_phase::succeeded ? 0 : 1;
}
