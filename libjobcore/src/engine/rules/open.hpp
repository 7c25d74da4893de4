// SPDX-License-Identifier: Apache-2.0
//
// What is not certain yet, so that losses have no consequence before it is.
#pragma once

#include "engine/health/health.hpp"

#include <optional>

namespace signalbox::core::engine {

struct open_questions {
    /// Replicas are missing whose absence no live read has confirmed: it may make the incident free
    /// (BEHAVIOUR.md 5.3).
    bool absences = false;
    /// An exit is given this time for its peers to follow (BEHAVIOUR.md 5.6).
    std::optional<instant> settles_until{};
    /// No restart is allowed by what ended so far, and what ends until then may allow one
    /// (BEHAVIOUR.md 5.5).
    std::optional<instant> refused_until{};

    bool any() const { return absences || settles_until || refused_until; }
    /// When those that time answers are answered; nothing if there are none.
    std::optional<instant> until() const;
};

open_questions find_open_questions(const context& c, const health& h);

}  // namespace signalbox::core::engine
