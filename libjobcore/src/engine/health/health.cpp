// SPDX-License-Identifier: Apache-2.0
#include "engine/health/health.hpp"

#include <algorithm>

namespace signalbox::core::engine {
namespace {

/// Whether an exit has to settle, and until when: counted from the first that is on record, else
/// from the first that is seen (BEHAVIOUR.md 5.6).
std::optional<instant> settle_time(const context& c, const health& h) {
    const bool exits = std::ranges::any_of(h.losses, &loss::exited);
    if (!exits || c.in.plan.run.scope || !can_replace_one(c, h)) {
        return std::nullopt;
    }
    const auto& last = c.status.restarts.last;
    instant first = instant::max();
    if (last && last->pending) {
        first = last->time.value_or(c.in.now);
    } else {
        for (const loss& l : h.losses) {
            first = l.exited() ? std::min(first, l.end) : first;
        }
        first = round_down_to_second(first);
    }
    const instant due = first + c.in.policy.settle;
    return c.in.now < due ? std::optional(due) : std::nullopt;
}

}  // namespace

bool can_replace_one(const context& c, const health& h) {
    switch (c.in.plan.scope) {
        case scope_rule::whole_job:
        case scope_rule::no_restart:
            return false;
        case scope_rule::external:
            return true;
        case scope_rule::c10d:
            break;
    }
    return !h.master_end && std::ranges::none_of(h.losses, [&](const loss& l) {
        return c.is_master(l.role, l.index);
    });
}

bool is_soon_after_incident(const context& c) {
    const auto& last = c.status.restarts.last;
    return last && last->time && c.in.now - *last->time < c.in.policy.short_life;
}

health examine(const context& c) {
    health out;
    if (is_final(c.status.phase)) {
        return out;
    }
    examine_replicas(c, out);
    const bool acts = !c.in.was_paused() && !c.in.plan.paused && !c.in.invalid;
    if (acts && c.status.attempt > 0) {
        out.settles_until = settle_time(c, out);
        out.keys = examine_keys(c);
    }
    return out;
}

}  // namespace signalbox::core::engine
