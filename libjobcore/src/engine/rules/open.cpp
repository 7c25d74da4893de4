// SPDX-License-Identifier: Apache-2.0
#include "engine/rules/open.hpp"

#include "engine/rules/verdict.hpp"

#include <algorithm>

namespace signalbox::core::engine {
namespace {

/// Counted from the exit that is on record, else from the first that is seen.
instant first_exit(const context& c, const health& h) {
    if (const auto& settling = c.status.restarts.settling) {
        return settling->time.value_or(c.in.now);
    }
    instant first = instant::max();
    for (const loss& l : h.losses) {
        first = l.exited() ? std::min(first, l.end) : first;
    }
    return round_down_to_second(first);
}

/// An exit settles where its replica could be replaced alone, and only if there will be a restart.
std::optional<instant> settle_time(const context& c, const judgement& j) {
    const bool exits = std::ranges::any_of(j.lost.losses, &loss::exited);
    if (!exits || c.in.plan.run.scope || !can_replace_one(c, j.lost) || j.ends) {
        return std::nullopt;
    }
    const instant due = first_exit(c, j.lost) + c.in.policy.settle;
    return c.in.now < due ? std::optional(due) : std::nullopt;
}

}  // namespace

std::optional<instant> open_questions::until() const {
    return std::max(settles_until, refused_until);
}

open_questions find_open_questions(const context& c, const health& h) {
    if (c.in.was_paused() || c.in.invalid || c.status.attempt == 0) {
        return {};
    }
    open_questions out{!h.unconfirmed.empty()};
    if (!h.losses.empty()) {
        const judgement j = judge(c, h);
        out.settles_until = settle_time(c, j);
        out.refused_until = open_until(c, j);
    }
    return out;
}

}  // namespace signalbox::core::engine
