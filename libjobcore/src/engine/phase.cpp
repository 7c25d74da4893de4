// SPDX-License-Identifier: Apache-2.0
//
// Phase of a job that has not ended (BEHAVIOUR.md 4.7-4.12), and what it waits for.
#include "engine/elastic.hpp"
#include "engine/pass.hpp"
#include "engine/pod_facts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::core::engine {
namespace {

bool slot_is_up(const role_view& role, const slot& s) {
    return s.settled() ||
           (s.current != nullptr && is_up(*s.current, role.plan->training_container));
}

bool below_minimum(const pass& p) {
    return p.plan.elastic && replicas_up(p) < p.plan.elastic->min_replicas;
}

bool is_complete(const pass& p) {
    if (p.plan.elastic) {
        const role_view& deciding = p.view.roles[p.plan.master_role];
        return !deciding.slots.empty() && slot_is_up(deciding, deciding.slots.front()) &&
               !below_minimum(p);
    }
    return std::ranges::all_of(p.view.roles, [](const role_view& role) {
        return std::ranges::all_of(role.slots, [&](const slot& s) { return slot_is_up(role, s); });
    });
}

/// The status that was read says for the attempt that still runs that it ran once.
bool was_running(const pass& p) {
    const job_status& before = p.job.status;
    return before.attempt == p.next.attempt &&
           (before.phase == job_phase::running || before.reason == reason::below_min_replicas);
}

bool is_rebuilding(const pass& p) {
    const auto& last = p.next.restarts.last;
    return last && last->scope == restart_scope::job && last->attempt == p.next.attempt;
}

bool master_is_unknown(pass& p) {
    if (!p.has_master()) {
        return false;
    }
    const pod_record* master = p.master_slot().current;
    return master != nullptr && master->phase == pod_phase::unknown;
}

/// What a pod that is there waits for; called only when no rule named anything more urgent.
void look_for_waiting_pods(pass& p) {
    for_each_slot(p, [&](std::size_t, std::int32_t, slot& s) {
        if (s.current != nullptr && s.current->unschedulable) {
            p.wait_for(
                reason::unschedulable, fmt::format("pod {} cannot be scheduled", s.current->name)
            );
        }
    });
    if (p.workers_awaited) {
        p.wait_for(reason::waiting_for_workers, "not every worker is Ready");
    }
    const bool too_few = p.plan.elastic && p.next.attempt > 0 &&
                         replicas_remaining(p, {}) < p.plan.elastic->min_replicas;
    p.wait_for(
        reason::creating_pods,
        too_few ? "fewer replicas than minReplicas are left: the others were given up"
                : "the pods are being created and started"
    );
}

void set(pass& p, job_phase phase, std::string_view why) {
    p.next.phase = phase;
    p.next.reason = why;
}

/// What is worth an event of its own when it begins (1.8, 2.8).
bool is_told_at_once(std::string_view why) {
    return why == reason::quota_exceeded || why == reason::name_conflict;
}

void tell_facts(pass& p) {
    if (is_told_at_once(p.waiting_reason)) {
        p.facts.push_back({p.waiting_reason, p.waiting_message});
    }
    for (const pass::fact& f : p.facts) {
        if (!p.is_told(f.why)) {
            p.warning(f.why, cut_message(f.text));
        }
    }
}

void set_running(pass& p) {
    const bool became = p.job.status.phase != job_phase::running;
    set(p, job_phase::running, p.facts.empty() ? std::string_view{} : p.facts.front().why);
    if (became) {
        p.normal(
            event_reason::running, p.plan.elastic ? "Enough replicas run" : "All replicas run"
        );
    }
}

}  // namespace

void set_phase(pass& p) {
    const bool complete = is_complete(p);
    tell_facts(p);
    if (p.frozen) {
        p.waiting_reason = reason::invalid_spec;
        p.waiting_message = "the specification is invalid; see the event InvalidSpec";
        p.next.reason = reason::invalid_spec;
        return;
    }
    if (is_rebuilding(p) && !complete && !was_running(p)) {
        set(p, job_phase::pending, reason::restarting);
        look_for_waiting_pods(p);
    } else if (master_is_unknown(p)) {
        set(p, job_phase::unknown, reason::master_unknown);
    } else if (was_running(p) && below_minimum(p)) {
        look_for_waiting_pods(p);
        set(p, job_phase::pending, reason::below_min_replicas);
    } else if (complete || was_running(p)) {
        set_running(p);
    } else if (p.job.status.phase == job_phase::paused || p.job.status.phase == job_phase::resuming) {
        look_for_waiting_pods(p);
        set(p, job_phase::resuming, p.waiting_reason);
    } else {
        look_for_waiting_pods(p);
        set(p, job_phase::pending, p.waiting_reason);
    }
}

}  // namespace signalbox::core::engine
