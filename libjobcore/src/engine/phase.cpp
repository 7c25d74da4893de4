// SPDX-License-Identifier: Apache-2.0
//
// Phase of a job that has not ended (behaviour.md 4.7-4.12), and what it waits for.
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

/// The status that was read says Running for the attempt that still runs.
bool was_running(const pass& p) {
    return p.job.status.phase == job_phase::running && p.job.status.attempt == p.next.attempt;
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
    p.wait_for(reason::creating_pods, "the pods are being created and started");
}

void set(pass& p, job_phase phase, std::string_view why) {
    p.next.phase = phase;
    p.next.reason = why;
}

}  // namespace

namespace {

void set_running(pass& p) {
    const bool became = p.job.status.phase != job_phase::running;
    set(p, job_phase::running, p.running_reason);
    if (became) {
        p.normal(
            event_reason::running, p.plan.elastic ? "Enough replicas run" : "All replicas run"
        );
    }
    if (!p.running_reason.empty() && p.job.status.reason != p.running_reason) {
        p.warning(p.running_reason, cut_message(p.running_message));
    }
}

}  // namespace

void set_phase(pass& p) {
    const bool complete = is_complete(p);
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
    if (p.waiting_reason == reason::quota_exceeded &&
        p.job.status.reason != reason::quota_exceeded) {
        p.warning(reason::quota_exceeded, cut_message(p.waiting_message));
    }
    if (p.waiting_reason == reason::name_conflict && p.job.status.reason != reason::name_conflict) {
        p.warning(reason::name_conflict, cut_message(p.waiting_message));
    }
}

}  // namespace signalbox::core::engine
