// SPDX-License-Identifier: Apache-2.0
//
// Pause and resume (BEHAVIOUR.md 6).
#include "engine/rules/rules.hpp"
#include "engine/rules/verdict.hpp"

#include <algorithm>

namespace signalbox::core::engine {

/// What failed before the deciding pod did has its consequence first, or the pause would change
/// what that pod's failure means (6.2).
std::optional<record> judge_before_pause(
    const context& c, const health& h, const open_questions& open
) {
    const bool may_end = h.deciding_end && !h.deciding_end->success();
    if (!may_end || open.any() || c.in.plan.scope == scope_rule::no_restart) {
        return std::nullopt;
    }
    const judgement j = judge(c, h);
    const health& now = j.said.restartable ? j.lost : j.first;
    const bool about_it = std::ranges::any_of(now.losses, [&](const loss& l) {
        return c.is_deciding(l.type, l.index);
    });
    return about_it ? std::nullopt : answer_losses(c, h, open);
}

std::optional<record> begin_pause(const context&, const health& h, const open_questions& open) {
    // A failure of the deciding pod may end the job: whether it does has to be known first.
    if ((open.absences || open.refused_until) && h.deciding_end) {
        return std::nullopt;
    }
    // What made that end no end of the job is deleted, or does not count, from here on.
    return pause_begin{h.deciding_end.has_value()};
}

std::optional<record> end_pause(const context&, const health& h, const open_questions&) {
    if (!h.unaccounted.empty()) {
        return std::nullopt;  // the next attempt would begin beside a pod that is out of view (1.9)
    }
    return pause_end{};
}

}  // namespace signalbox::core::engine
