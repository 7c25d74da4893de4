// SPDX-License-Identifier: Apache-2.0
#include "engine/rules/open.hpp"

#include "engine/rules/verdict.hpp"

#include <algorithm>

namespace signalbox::core::engine {
namespace {

/// Counted from the exit that is on record, else from the first that is seen.
instant first_exit(const context& c, const health& h) {
    const auto& last = c.status.restarts.last;
    if (last && last->pending) {
        return last->time.value_or(c.in.now);
    }
    instant first = instant::max();
    for (const loss& l : h.losses) {
        first = l.exited() ? std::min(first, l.end) : first;
    }
    return round_down_to_second(first);
}

/// An exit settles where its replica could be replaced alone, and only if there will be a restart.
std::optional<instant> settle_time(const context& c, const health& h) {
    const bool exits = std::ranges::any_of(h.losses, &loss::exited);
    if (!exits || c.in.plan.run.scope || !can_replace_one(c, h)) {
        return std::nullopt;
    }
    if (ends_job(c, h, evaluate(c, h))) {
        return std::nullopt;
    }
    const instant due = first_exit(c, h) + c.in.policy.settle;
    return c.in.now < due ? std::optional(due) : std::nullopt;
}

}  // namespace

open_questions find_open_questions(const context& c, const health& h) {
    if (c.in.was_paused() || c.in.invalid || c.status.attempt == 0) {
        return {};
    }
    return {!h.unconfirmed.empty(), settle_time(c, h)};
}

}  // namespace signalbox::core::engine
