// SPDX-License-Identifier: Apache-2.0
#include "cli/simulation/training_run.hpp"

#include "manifests/json_edit.hpp"

#include <jobcore/children.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <utility>

namespace signalbox::op::cli {

namespace {

using core::instant;
using core::milliseconds;

/// More decisions at one instant than any job needs.
constexpr int most_passes = 10'000;

/// The same numbers on every machine, which the distributions of the standard library do not
/// promise.
class chance {
public:
    explicit chance(std::uint64_t seed) : bits_(seed) {}

    /// At least 0, less than 1.
    double part() { return static_cast<double>(bits_() >> 11U) * 0x1p-53; }

    /// Until the next of events that come `rate` times a millisecond in the mean; at most `limit`,
    /// so that it can be added to a time.
    milliseconds span(double rate, milliseconds limit) {
        const double span = -std::log(1 - part()) / rate;
        const auto most = static_cast<double>(limit.count());
        return milliseconds(std::llround(std::min(span, most)));
    }

private:
    std::mt19937_64 bits_;
};

/// Work that is done, saved and lost, by the times at which all pods train and no longer do.
class progress_account {
public:
    progress_account(const training_model& model, training_outcome& out)
        : model_(&model), out_(&out) {}

    bool runs() const { return since_.has_value(); }
    void begin(instant now) { since_ = now; }

    /// When all work is done, if nothing fails.
    instant done_at() const {
        return *since_ + left() + saves_of(left()) * model_->checkpoint_takes;
    }

    /// Training ends with all work done.
    void complete() {
        out_->saving += saves_of(left()) * model_->checkpoint_takes;
        out_->useful += left();
        since_.reset();
    }

    /// A pod failed: what is not saved is lost.
    void fail(instant now) {
        const milliseconds ran = now - *since_;
        const milliseconds every = model_->checkpoint_every;
        const milliseconds round = every + model_->checkpoint_takes;
        const auto saved = every > milliseconds::zero() ? ran / round : 0;
        out_->useful += saved * every;
        out_->saving += saved * model_->checkpoint_takes;
        out_->lost += ran - saved * round;
        since_.reset();
    }

private:
    milliseconds left() const { return model_->work - out_->useful; }

    /// How many checkpoints so much work has: none at its end.
    std::int64_t saves_of(milliseconds work) const {
        const milliseconds every = model_->checkpoint_every;
        return every > milliseconds::zero() && work > milliseconds::zero()
                   ? (work - milliseconds(1)) / every
                   : 0;
    }

    const training_model* model_;
    training_outcome* out_;
    std::optional<instant> since_;
};

class training_run {
public:
    training_run(
        core::job_object job,
        const std::string& job_json,
        const training_model& model,
        const core::policy& rules,
        std::uint64_t seed
    )
        : job_(std::move(job)),
          job_json_(&job_json),
          model_(&model),
          rules_(&rules),
          chance_(seed),
          progress_(model, out_) {
        for (const core::object_kind kind : core::all_child_kinds()) {
            children_.served.set(kind, core::served::no);
        }
    }

    training_outcome run() {
        const instant end = instant{} + model_->limit;
        settle();
        while (!is_final(job_.status.phase)) {
            const std::optional<instant> next = next_time();
            if (!next || *next > end) {
                break;
            }
            now_ = std::max(now_, *next);
            happen();
            settle();
        }
        return finish();
    }

private:
    training_outcome finish() {
        if (progress_.runs()) {
            progress_.fail(now_);
        }
        const std::string phase(core::to_string(job_.status.phase));
        const bool good = job_.status.phase == core::job_phase::succeeded;
        const bool ended = is_final(job_.status.phase);
        out_.end = good ? phase : ended ? job_.status.reason : fmt::format("still {}", phase);
        out_.total = now_ - instant{};
        out_.attempts = static_cast<std::uint64_t>(std::max(job_.status.attempt, 0));
        return std::move(out_);
    }

    /// Decides until nothing is left to do now.
    void settle() {
        for (int pass = 0; pass < most_passes && one_pass(); ++pass) {
        }
        note_training();
    }

    /// True if anything was done.
    bool one_pass() {
        const core::decision d = core::decide(job_, children_.seen(), *rules_, now_);
        wake_up_ = d.wake_up;
        if (d.status) {
            job_.status = *d.status;
        }
        std::string patch;
        const auto done = children_.carry_out(job_, d, now_, [&](const core::action& a) {
            if (a.kind == core::object_kind::job) {
                patch = a.body();
            }
            core::job_children::done made{fmt::format("object-{}", ++made_)};
            if (a.what() == core::verb::create && a.kind == core::object_kind::pod) {
                starts_[made.uid] = now_ + model_->start_takes;
            }
            return made;
        });
        if (!patch.empty()) {
            change_job(patch);
        }
        return done == core::progress::made || d.status.has_value();
    }

    /// The engine writes a size into the specification (BEHAVIOUR.md 7).
    void change_job(const std::string& patch) {
        changed_json_ = manifests::with_value(
            manifests::merge_patch(changed_json_.empty() ? *job_json_ : changed_json_, patch),
            "/metadata/generation",
            std::to_string(job_.meta.generation + 1)
        );
        if (auto again = core::read_again(changed_json_, job_)) {
            job_ = *std::move(again);
        }
    }

    /// Training goes on while all that is wanted runs.
    void note_training() {
        const bool whole =
            !is_trained_ && job_.status.phase == core::job_phase::running && running() == wanted();
        if (whole && !progress_.runs()) {
            progress_.begin(now_);
        } else if (!whole && progress_.runs()) {
            progress_.fail(now_);
        }
        // Failures have no memory: with other pods, the next one is drawn anew.
        if (const std::int64_t count = is_trained_ ? 0 : running(); count != drawn_for_) {
            drawn_for_ = count;
            const double rate = static_cast<double>(count) * (node_rate() + program_rate());
            failure_.reset();
            if (rate > 0) {
                failure_ = now_ + chance_.span(rate, model_->limit);
            }
        }
    }

    std::optional<instant> next_time() const {
        std::optional<instant> next = wake_up_;
        const auto also = [&next](instant at) { next = next ? std::min(*next, at) : at; };
        for (const auto& [uid, at] : starts_) {
            also(at);
        }
        if (failure_) {
            also(*failure_);
        }
        if (progress_.runs()) {
            also(progress_.done_at());
        }
        return next;
    }

    void happen() {
        if (progress_.runs() && progress_.done_at() <= now_) {
            progress_.complete();
            is_trained_ = true;
            for (core::pod_record& pod : children_.pods) {
                core::note_end(pod, 0, now_);
            }
        } else if (failure_ && *failure_ <= now_) {
            fail_one();
        }
        for (core::pod_record& pod : children_.pods) {
            const auto start = starts_.find(pod.uid);
            if (start != starts_.end() && start->second <= now_) {
                core::note_start(pod, now_);
            }
        }
        // Of pods that were deleted before they started too.
        std::erase_if(starts_, [&](const auto& start) { return start.second <= now_; });
    }

    void fail_one() {
        auto left = static_cast<std::int64_t>(chance_.part() * static_cast<double>(running()));
        const auto hit = std::ranges::find_if(children_.pods, [&](const core::pod_record& pod) {
            return pod.phase == core::pod_phase::running && left-- == 0;
        });
        drawn_for_ = -1;
        if (hit == children_.pods.end()) {
            return;
        }
        if (chance_.part() * (node_rate() + program_rate()) < node_rate()) {
            ++out_.nodes;
            hit->disruption_target = true;
            hit->disruption_reason = "DeletionByTaintManager";
            hit->disruption_message = "its node is lost";
            core::note_end(*hit, 137, now_);
        } else {
            ++out_.programs;
            core::note_end(*hit, 1, now_);
        }
    }

    std::int64_t running() const {
        return std::ranges::count(
            children_.pods, core::pod_phase::running, &core::pod_record::phase
        );
    }

    std::int64_t wanted() const {
        std::int64_t sum = 0;
        for (const core::task_status& task : job_.status.tasks) {
            sum += task.wanted;
        }
        return sum;
    }

    static double rate_of(milliseconds mean) {
        return mean > milliseconds::zero() ? 1 / static_cast<double>(mean.count()) : 0;
    }
    double node_rate() const { return rate_of(model_->node_mtbf); }
    double program_rate() const { return rate_of(model_->program_mtbf); }

    core::job_object job_;
    const std::string* job_json_;
    std::string changed_json_;  ///< empty: as it was given
    const training_model* model_;
    const core::policy* rules_;
    chance chance_;
    training_outcome out_;
    progress_account progress_;
    core::job_children children_;
    std::map<std::string, instant> starts_;  ///< of pods that are pending, by UID
    instant now_{};
    std::optional<instant> wake_up_;
    std::optional<instant> failure_;
    std::int64_t drawn_for_ = 0;  ///< pods that ran when `failure_` was drawn; -1: draw anew
    std::uint64_t made_ = 0;
    bool is_trained_ = false;
};

}  // namespace

training_outcome run_training(
    const core::job_object& job,
    const std::string& job_json,
    const training_model& model,
    const core::policy& rules,
    std::uint64_t seed
) {
    return training_run(job, job_json, model, rules, seed).run();
}

}  // namespace signalbox::op::cli
