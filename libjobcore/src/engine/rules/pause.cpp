// SPDX-License-Identifier: Apache-2.0
//
// Pause and resume (BEHAVIOUR.md 6).
#include "engine/rules/rules.hpp"

namespace signalbox::core::engine {

std::optional<record> begin_pause(const context& c, const health&) {
    return c.in.plan.paused && !c.in.was_paused() ? std::optional<record>(pause_begin{})
                                                  : std::nullopt;
}

std::optional<record> end_pause(const context&, const health&) {
    return pause_end{};
}

}  // namespace signalbox::core::engine
