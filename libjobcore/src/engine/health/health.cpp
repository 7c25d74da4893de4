// SPDX-License-Identifier: Apache-2.0
#include "engine/health/health.hpp"

#include <algorithm>
#include <utility>

namespace signalbox::core::engine {
bool can_replace_one(const context& c, const health& h) {
    switch (c.in.plan.scope) {
        case scope_rule::whole_job:
        case scope_rule::no_restart:
            return false;
        case scope_rule::external:
            return !h.deciding_end || !h.deciding_end->success();
        case scope_rule::c10d:
            break;
    }
    return !h.deciding_end && std::ranges::none_of(h.losses, [&](const loss& l) {
        return c.is_deciding(l.type, l.index);
    });
}

bool is_soon_after_incident(const context& c) {
    const auto& last = c.status.restarts.last;
    return last && last->time && c.in.now - *last->time < c.in.policy.short_life;
}

health examine(const context& c) {
    health out;
    examine_replicas(c, out);
    if (is_final(c.status.phase)) {
        health ended;
        ended.completed = std::move(out.completed);
        ended.unaccounted = std::move(out.unaccounted);
        return ended;
    }
    const bool acts = !c.in.was_paused() && !c.in.plan.paused && !c.in.invalid;
    if (acts && c.status.attempt > 0) {
        out.keys = examine_keys(c);
    }
    return out;
}

}  // namespace signalbox::core::engine
