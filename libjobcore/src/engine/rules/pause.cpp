// SPDX-License-Identifier: Apache-2.0
//
// Pause and resume (BEHAVIOUR.md 6).
#include "engine/rules/rules.hpp"

namespace signalbox::core::engine {

std::optional<record> begin_pause(const context& c, const health& h, const open_questions& open) {
    // A failure of the deciding pod may end the job: whether it does has to be known first.
    const bool may_end = open.absences && h.master_end;
    if (!c.in.plan.paused || c.in.was_paused() || may_end) {
        return std::nullopt;
    }
    // What made that end no end of the job is deleted, or does not count, from here on.
    return pause_begin{h.master_end.has_value()};
}

std::optional<record> end_pause(const context&, const health& h, const open_questions&) {
    if (!h.unaccounted.empty()) {
        return std::nullopt;  // the next attempt would begin beside a pod that is out of view (1.9)
    }
    return pause_end{};
}

}  // namespace signalbox::core::engine
