// SPDX-License-Identifier: Apache-2.0
#include "controller/stage_runner.hpp"

#include "k8sio/slow_start.hpp"

#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <exception>
#include <string_view>
#include <utility>

namespace signalbox::op {

namespace asio = boost::asio;

namespace {

/// Ranks that end together are told together (BEHAVIOUR.md 5.15).
k8sio::slow_start pace_of(const core::decision& made, std::size_t stage, std::size_t in_flight) {
    const bool removes = stage < made.stages.size() &&
                         std::ranges::all_of(made.stages[stage], [](const core::action& a) {
                             return a.what() == core::verb::remove;
                         });
    return removes ? k8sio::slow_start::at_once(in_flight) : k8sio::slow_start(in_flight);
}

/// Empty for reads, as they wait for kubelets and for others' webhooks, too.
std::string_view timed_verb(const core::action& a) {
    return a.what() == core::verb::read ? std::string_view() : to_string(a.what());
}

}  // namespace

/// Lives in the frame of run(), which ends only when every action it started has ended.
class stage_runner::work_run {
public:
    work_run(
        stage_runner& runner,
        job_entry& entry,
        const core::job_object& decided,
        const core::decision& made
    )
        : runner_(&runner),
          entry_(&entry),
          decided_(&decided),
          made_(&made),
          order_(entry.answers.begin(made, decided.status)),
          pace_(pace_of(made, 0, runner.slots_->most())),
          changed_(runner.loop_) {}

    /// Starts what may be started now. False when nothing is left to wait for.
    bool advance() {
        while (pace_.may_start()) {
            const core::action* const a = order_.next(runner_->clock_.now());
            if (a == nullptr) {
                break;
            }
            if (is_overtaken() || has_to_wait(*a)) {
                skip(*a);
                continue;
            }
            if (std::exchange(stage_, order_.stage_number()) != order_.stage_number()) {
                pace_ = pace_of(*made_, stage_, runner_->slots_->most());
            }
            pace_.started();
            start(*a);
        }
        return !pace_.idle();
    }

    k8sio::notification& changed() { return changed_; }
    work_report report() const {
        work_report out = report_;
        out.acted = order_.acted();
        return out;
    }

private:
    /// What was decided is about a job that is no longer so (BEHAVIOUR.md I4).
    bool is_overtaken() const {
        // Views become incomplete when the server went back in time.
        const k8sio::controller& runtime = *runner_->runtime_;
        if (runtime.stopping() || entry_->gone || !runtime.views_synced()) {
            return true;
        }
        return entry_->has_moved_on(decided_->meta);
    }

    void skip(const core::action& a) {
        order_.note(a, core::answer::unanswered(), runner_->clock_.now());
    }

    bool has_to_wait(const core::action& a) {
        const k8sio::steady_time now = runner_->clock_.steady_now();
        const k8sio::steady_time earliest = entry_->repairs.earliest(a, now);
        if (earliest > now) {
            report_.at = report_.at ? std::min(*report_.at, earliest) : earliest;
        }
        return earliest > now;
    }

    static asio::awaitable<action_result> one(work_run* run, const core::action* a) {
        stage_runner& runner = *run->runner_;
        const std::string_view verb = timed_verb(*a);
        auto slot = co_await runner.slots_->take(*run->entry_, verb, to_string(a->kind));
        auto result = action_result::skipped;
        if (run->is_overtaken()) {
            run->skip(*a);
        } else {
            result = co_await runner.executor_->carry_out(
                *run->entry_, *run->decided_, *run->made_, run->order_, *a
            );
            if (result == action_result::done) {
                slot.note_success();
            }
        }
        co_return result;
    }

    void start(const core::action& a) {
        auto done = [this, action = &a](std::exception_ptr broken, action_result result) {
            if (broken) {
                runner_->log_->error("an action ended by an exception");
                result = action_result::failed;
            }
            finished(*action, result);
        };
        asio::co_spawn(runner_->loop_, one(this, &a), std::move(done));
    }

    void finished(const core::action& a, action_result result) {
        if (result == action_result::done) {
            entry_->repairs.note(a, runner_->clock_.steady_now());
        }
        if (result == action_result::done || result == action_result::present) {
            // The decision did not know of it. It is about to come into view; if not, deciding the
            // same again at once would spin.
            report_.troubled = report_.troubled || result == action_result::present;
            pace_.succeeded();
        } else {
            report_.troubled = report_.troubled || result != action_result::skipped;
            report_.transient = report_.transient && result != action_result::refused &&
                                result != action_result::failed;
            pace_.failed();
        }
        // A refusal that will repeat, or a server in trouble: the rest would meet the same. One
        // object that is not as expected says nothing about the others.
        if (result == action_result::refused || result == action_result::unavailable) {
            pace_.stop();
        }
        changed_.notify();
    }

    stage_runner* runner_;
    job_entry* entry_;
    const core::job_object* decided_;
    const core::decision* made_;
    core::work_order order_;
    std::size_t stage_ = 0;
    k8sio::slow_start pace_;
    k8sio::notification changed_;
    work_report report_;
};

asio::awaitable<work_report> stage_runner::run(
    job_entry& entry, const core::job_object& decided, const core::decision& made
) {
    work_run work(*this, entry, decided, made);
    while (work.advance()) {
        co_await work.changed().wait();
    }
    co_return work.report();
}

}  // namespace signalbox::op
