// SPDX-License-Identifier: Apache-2.0
#include "cli/offline_plan.hpp"

#include "manifests/json_edit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace signalbox::op::cli {

namespace {

/// A created object: what was sent, and what an API server would show of it.
struct child {
    core::object_kind kind;
    std::string uid;
    std::string name;
    std::string seen;
    planned_object planned;
};

/// More passes than any job needs to settle; a bound, should two rules ever undo each other.
constexpr int max_passes = 64;

class offline_cluster {
public:
    offline_cluster(std::string job_json, const core::capabilities& served, core::instant now)
        : job_json_(std::move(job_json)), served_(served), now_(now) {}

    offline_plan run() {
        for (int pass = 0; pass < max_passes; ++pass) {
            const bool changed = one_pass();
            if (!out_.error.empty()) {
                break;
            }
            if (!changed && !start_next_stage()) {
                return finish();
            }
        }
        if (out_.error.empty()) {
            out_.error = "the decisions did not come to rest";
        }
        return finish();
    }

private:
    offline_plan finish() {
        out_.job = job_json_;
        for (child& c : children_) {
            out_.objects.push_back(std::move(c.planned));
        }
        return std::move(out_);
    }

    /// True if anything was done.
    bool one_pass() {
        core::result<core::job_object> job = core::read_job(job_json_, compiled_);
        if (!job) {
            out_.error = job.error();
            return false;
        }
        compiled_ = job->compiled;
        core::decision d = decide(*job);
        if (d.status) {
            job->status = *d.status;
            job_json_ = manifests::with_value(
                job_json_, "/status", core::format_status(job->status, job->meta.kind)
            );
        }
        std::ranges::move(d.events, std::back_inserter(out_.events));
        bool acted = d.status.has_value();
        for (const core::stage& s : d.stages) {
            for (const core::action& a : s) {
                carry_out(*job, d, a);
                acted = true;
            }
        }
        return acted;
    }

    core::decision decide(const core::job_object& job) {
        std::vector<core::pod_record> pods;
        std::vector<core::child_record> others;
        for (const child& c : children_) {
            if (c.kind == core::object_kind::pod) {
                if (auto pod = core::decode_pod(c.seen)) {
                    pods.push_back(std::move(*pod));
                }
            } else if (auto other = core::decode_child(c.kind, c.seen)) {
                others.push_back(std::move(*other));
            }
        }
        std::vector<const core::pod_record*> pod_views;
        std::ranges::transform(pods, std::back_inserter(pod_views), [](auto& p) { return &p; });
        std::vector<const core::child_record*> other_views;
        std::ranges::transform(others, std::back_inserter(other_views), [](auto& c) { return &c; });
        core::observed seen;
        seen.pods = pod_views;
        seen.children = other_views;
        seen.absences = absences_;
        seen.served_kinds = served_;
        return core::decide(job, seen, core::policy(), now_);
    }

    void carry_out(const core::job_object& job, const core::decision& d, const core::action& a) {
        const auto same = [&](const child& c) { return c.kind == a.kind && c.name == a.name; };
        switch (a.what()) {
            case core::verb::create:
                create(job, d, a);
                break;
            case core::verb::patch:
                patch(a);
                break;
            case core::verb::remove:
                std::erase_if(children_, same);
                break;
            case core::verb::confirm:
                if (std::ranges::none_of(children_, same)) {
                    absences_.push_back({a.kind, a.name});
                }
                break;
        }
    }

    void create(const core::job_object& job, const core::decision& d, const core::action& a) {
        child made{a.kind, {}, a.name, {}, {core::render_action(job, d, a), a.why, a.rule}};
        made.uid = fmt::format("00000000-0000-4000-8000-{:012}", ++uids_);
        made.seen = manifests::with_string(made.planned.json, "/metadata/uid", made.uid);
        made.seen = manifests::with_string(
            made.seen, "/metadata/creationTimestamp", core::format_time(now_)
        );
        made.seen =
            manifests::with_string(made.seen, "/metadata/resourceVersion", std::to_string(uids_));
        if (a.kind == core::object_kind::pod) {
            made.seen = manifests::with_string(made.seen, "/status/phase", "Pending");
        }
        children_.push_back(std::move(made));
    }

    void patch(const core::action& a) {
        if (a.kind == core::object_kind::job) {
            job_json_ = manifests::merge_patch(job_json_, std::string(a.body()));
            compiled_.reset();
            return;
        }
        for (child& c : children_) {
            if (c.kind == a.kind && c.name == a.name) {
                c.seen = manifests::merge_patch(c.seen, std::string(a.body()));
            }
        }
    }

    /// A kind with stages creates the next one only once the pods of the one before are ready.
    bool start_next_stage() {
        const bool staged = compiled_ && compiled_->plan && compiled_->plan->pod_stages.size() > 1;
        // The last stage stays pending, as the pods of other kinds do.
        if (!staged || readied_ == children_.size() || has_all_pods(*compiled_->plan)) {
            return false;
        }
        readied_ = children_.size();
        for (child& c : children_) {
            if (c.kind == core::object_kind::pod) {
                c.seen = manifests::merge_patch(c.seen, running_status(c.seen));
            }
        }
        out_.assumed_ready = true;
        return true;
    }

    bool has_all_pods(const core::job_plan& plan) const {
        std::int64_t wanted = 0;
        for (const core::role_plan& role : plan.roles) {
            wanted += role.wanted;
        }
        return std::ranges::count(children_, core::object_kind::pod, &child::kind) >= wanted;
    }

    std::string running_status(const std::string& pod) const {
        std::string statuses;
        for (int i = 0;; ++i) {
            const std::string pointer = fmt::format("/spec/containers/{}/name", i);
            const std::string name = manifests::string_at(pod, pointer.c_str());
            if (name.empty()) {
                break;
            }
            statuses += fmt::format(
                R"({}{{"name":"{}","ready":true,"state":{{"running":{{"startedAt":"{}"}}}}}})",
                i == 0 ? "" : ",",
                name,
                core::format_time(now_)
            );
        }
        return fmt::format(
            R"({{"spec":{{"nodeName":"node"}},"status":{{"phase":"Running","conditions":[)"
            R"({{"type":"Ready","status":"True"}}],"containerStatuses":[{}]}}}})",
            statuses
        );
    }

    std::string job_json_;
    core::capabilities served_;
    core::instant now_;
    std::shared_ptr<const core::compiled_job> compiled_;
    std::vector<child> children_;
    std::vector<core::confirmed_absence> absences_;
    std::uint64_t uids_ = 0;
    std::size_t readied_ = 0;
    offline_plan out_;
};

}  // namespace

offline_plan plan_offline(
    std::string job_json, const core::capabilities& served, core::instant now
) {
    return offline_cluster(std::move(job_json), served, now).run();
}

}  // namespace signalbox::op::cli
