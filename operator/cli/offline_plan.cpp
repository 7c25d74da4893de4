// SPDX-License-Identifier: Apache-2.0
#include "cli/offline_plan.hpp"

#include "manifests/json_edit.hpp"

#include <jobcore/children.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

namespace signalbox::op::cli {

namespace {

/// A created object, as it is found again.
struct made_object {
    core::object_kind kind;
    std::string name;
    planned_object planned;
};

/// More passes than any job needs to settle; a bound, should two rules ever undo each other.
constexpr int max_passes = 64;

class offline_cluster {
public:
    offline_cluster(
        std::string job_json,
        const core::capabilities& served,
        const core::policy& rules,
        core::instant now
    )
        : job_json_(std::move(job_json)), rules_(rules), now_(now) {
        children_.served = served;
    }

    offline_plan run() {
        for (int pass = 0; pass < max_passes; ++pass) {
            const bool changed = one_pass();
            if (!out_.error.empty()) {
                break;
            }
            if (!changed && !let_pods_in() && !start_next_stage()) {
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
        for (made_object& o : objects_) {
            out_.objects.push_back(std::move(o.planned));
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
        const core::decision d = core::decide(*job, children_.seen(), rules_, now_);
        if (d.status) {
            job->status = *d.status;
            job_json_ = manifests::with_value(
                job_json_, "/status", core::format_status(job->status, job->meta.kind)
            );
        }
        std::ranges::copy(d.events, std::back_inserter(out_.events));
        const auto done = children_.carry_out(*job, d, now_, [&](const core::action& a) {
            note(*job, d, a);
            uids_ += a.what() == core::verb::create ? 1U : 0U;
            return core::job_children::done{fmt::format("00000000-0000-4000-8000-{:012}", uids_)};
        });
        return done == core::progress::made || d.status.has_value();
    }

    /// What the plan shows of an action, and what the job has from it.
    void note(const core::job_object& job, const core::decision& d, const core::action& a) {
        if (a.what() == core::verb::create) {
            objects_.push_back({a.kind, a.name, {core::preview_action(job, d, a), a.why, a.rule}});
        } else if (a.what() == core::verb::remove) {
            std::erase_if(objects_, [&](const made_object& o) {
                return o.kind == a.kind && o.name == a.name;
            });
        } else if (a.kind == core::object_kind::job) {
            job_json_ = manifests::merge_patch(job_json_, std::string(a.body()));
            compiled_.reset();
        }
    }

    /// A scheduler may have to let a gang in before there are pods (BEHAVIOUR.md 8.5).
    bool let_pods_in() {
        const auto waiting = std::ranges::find_if(children_.others, [](const auto& c) {
            return c.gang != nullptr && c.gang->is != core::gang_answer::state::admitted;
        });
        if (waiting == children_.others.end() || !children_.pods.empty()) {
            return false;
        }
        core::gang_answer yes;
        yes.is = core::gang_answer::state::admitted;
        core::quota_answer all;
        all.reserved = all.admitted = true;
        for (const core::type_plan& type : compiled_->plan->types) {
            all.sets.push_back({type.name, type.wanted, type.wanted});
        }
        yes.quota = std::make_shared<const core::quota_answer>(std::move(all));
        waiting->gang = std::make_shared<const core::gang_answer>(std::move(yes));
        return true;
    }

    /// A kind with stages creates the next one only once the pods of the one before are ready.
    bool start_next_stage() {
        const bool staged = compiled_ && compiled_->plan && compiled_->plan->pod_stages.size() > 1;
        // The last stage stays pending, as the pods of other kinds do.
        if (!staged || readied_ == children_.pods.size() || has_all_pods(*compiled_->plan)) {
            return false;
        }
        readied_ = children_.pods.size();
        for (core::pod_record& pod : children_.pods) {
            core::note_start(pod, now_);
        }
        out_.assumed_ready = true;
        return true;
    }

    bool has_all_pods(const core::job_plan& plan) const {
        std::int64_t wanted = 0;
        for (const core::type_plan& type : plan.types) {
            wanted += type.wanted;
        }
        return std::ssize(children_.pods) >= wanted;
    }

    std::string job_json_;
    core::policy rules_;
    core::instant now_;
    std::shared_ptr<const core::compiled_job> compiled_;
    core::job_children children_;
    std::vector<made_object> objects_;
    std::uint64_t uids_ = 0;
    std::size_t readied_ = 0;
    offline_plan out_;
};

}  // namespace

offline_plan plan_offline(
    std::string job_json,
    const core::capabilities& served,
    const core::policy& rules,
    core::instant now
) {
    return offline_cluster(std::move(job_json), served, rules, now).run();
}

}  // namespace signalbox::op::cli
