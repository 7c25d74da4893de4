// SPDX-License-Identifier: Apache-2.0
//
// What a decision records, held against what truly happened in the world: which pod decided, how
// long the job was healthy, when a pod began, what was told before.
#include "checks.hpp"
#include "configurations.hpp"
#include "engine/facts/ledger.hpp"
#include "engine/facts/pod_facts.hpp"
#include "events.hpp"
#include "process.hpp"
#include "property/rules.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::search {

using namespace core;

namespace {

class record_check {
public:
    record_check(const world& w, const decision& d, violations& out)
        : w_(w),
          d_(d),
          before_(w.known_job->status),
          next_(d.status ? *d.status : before_),
          out_(out) {}

    void run() {
        check_deciding_pod();
        check_streak();
        check_free_streak();
        check_repeats();
        check_sleep();
        check_events();
    }

private:
    /// The job succeeds by the pod that decided when its attempt began (4.3).
    void check_deciding_pod() {
        if (next_.phase != job_phase::succeeded || is_final(before_.phase)) {
            return;
        }
        const sight shown(w_);
        const bool proved = std::ranges::any_of(shown.pods, [&](const pod_record* p) {
            const container_record* c = training_container(w_, *p);
            return p->type == w_.past.deciding && p->index == 0 && p->attempt == before_.attempt &&
                   c != nullptr && c->state == container_state::terminated && c->exit_code == 0;
        });
        if (!proved) {
            out_.push_back(
                "4.3 the job succeeds, and its deciding pod did not: " + w_.past.deciding
            );
        }
    }

    /// Since when the job runs and nothing befell it, but for what this decision is about.
    std::optional<instant> healthy_since() const {
        const condition* running = find_condition(before_, "Running");
        if (running == nullptr || !running->status || !running->last_transition) {
            return std::nullopt;
        }
        return std::max(*running->last_transition, w_.past.trouble_before.value_or(instant::min()));
    }

    /// No incident of the present trouble is on record yet.
    bool is_first() const {
        return w_.past.trouble && w_.past.incident.value_or(instant::min()) < *w_.past.trouble;
    }

    /// After a long healthy time the streak begins anew, whether the failure settled or not (5.8).
    void check_streak() {
        const auto since = healthy_since();
        const bool counted = is_first() && next_.backoff_count > before_.backoff_count &&
                             next_.restarts.last->time >= w_.past.trouble;
        if (counted && since && w_.past.trouble &&
            *w_.past.trouble - *since >= w_.context->rules().healthy_after &&
            next_.restarts.streak != 1) {
            out_.push_back(
                fmt::format("5.8 the streak is {} after a long healthy time", next_.restarts.streak)
            );
        }
    }

    /// Until it ended or its deletion was asked for, whichever came first.
    milliseconds life_of(const pod_record& p) const {
        instant until = std::min(w_.now, engine::deletion_asked(p).value_or(w_.now));
        const auto end = end_of_pod(w_, valid_plan(w_), p);
        until = end ? std::min(until, end->time) : until;
        return until - p.creation.value_or(until);
    }

    /// What is lost was short-lived by the life of its pod, or, if that vanished, by an incident
    /// that was on record just before (5.4).
    void check_free_streak() {
        const milliseconds life = w_.context->rules().short_life;
        const bool soon = w_.past.incident && w_.now - *w_.past.incident < life;
        const sight shown(w_);
        const bool all_old = std::ranges::all_of(shown.pods, [&](const pod_record* p) {
            return life_of(*p) >= life;
        });
        if (next_.restarts.free_streak > before_.restarts.free_streak && !soon && all_old) {
            out_.push_back("5.4 a loss counts as short-lived, long after the last incident");
        }
    }

    bool repeats(const pod_record& pod) const {
        const auto& plan = w_.known_job->compiled->plan;
        return plan && std::ranges::any_of(plan->types, [&](const type_plan& type) {
                   return type.name == pod.type && type.restart == restart_policy::always;
               });
    }

    /// A replica that runs again and again does so by the clock of the server (5.9, 12.8).
    void check_repeats() {
        if (next_.attempt != before_.attempt || next_.restarts.last != before_.restarts.last ||
            !next_.restarts.given_up.empty()) {
            return;
        }
        for (const replaced_index& now : next_.restarts.replaced) {
            const bool fresh = std::ranges::none_of(before_.restarts.replaced, [&](const auto& r) {
                return r.type == now.type && r.index == now.index && r.round == now.round;
            });
            for (const pod_ptr& p : w_.pods) {
                const container_record* c = training_container(w_, *p);
                const bool it = p->type == now.type && p->index == now.index &&
                                p->attempt == next_.attempt && p->round == now.round - 1;
                if (fresh && it && repeats(*p) && c != nullptr &&
                    c->state == container_state::terminated && c->exit_code == 0 &&
                    w_.now - *p->creation < w_.context->rules().always_delay) {
                    out_.push_back("5.9 a replica runs again before its time");
                }
            }
        }
    }

    /// No delay of the rules is longer than five minutes; what the user sets may be.
    void check_sleep() {
        const policy& rules = w_.context->rules();
        const milliseconds longest = std::max(
            {rules.restart_delay_max,
             rules.exit_barrier,
             rules.quota_retry_max,
             rules.free_delay_max}
        );
        const auto& set = w_.context->config().job.run_policy;
        const bool by_user = set.contains("activeDeadlineSeconds") || w_.spec.deadline >= 0 ||
                             set.contains("ttlSecondsAfterFinished") ||
                             w_.context->config().reports;  // the clock of 13.8
        const milliseconds back = w_.past.set_back;
        if (d_.wake_up && !by_user && *d_.wake_up - w_.now > longest + back + seconds(1)) {
            out_.push_back(
                fmt::format("I18 the job sleeps for {} s", (*d_.wake_up - w_.now).count() / 1000)
            );
        }
    }

    /// An event without a trace is told again in the next decision (11.2).
    void check_events() {
        if (!d_.events.empty() && !d_.status && d_.stages.empty()) {
            out_.push_back(
                "11.2 an event is told that nothing records: " + d_.events.front().reason
            );
        }
    }

    const world& w_;
    const decision& d_;
    const job_status& before_;
    const job_status& next_;
    violations& out_;
};

}  // namespace

void check_record(const world& w, const decision& d, violations& out) {
    record_check(w, d, out).run();
}

}  // namespace signalbox::search
