// SPDX-License-Identifier: Apache-2.0
//
// Which failure rule an incident goes by: the user's, then our own (BEHAVIOUR.md 13.3, 13.4).
#pragma once

#include "engine/health/health.hpp"
#include "jobcore/spec.hpp"

#include <optional>
#include <string>

namespace signalbox::core::engine {

struct matched_rule {
    std::string name;  ///< `failureRules/2`, `default/EccError`
    failure_action action = failure_action::fail;
    /// One of ours: it says which node is bad, and nothing of restarts.
    bool by_default = false;
    const loss* on = nullptr;
};

/// The first rule that holds of the failure that counts among these; nothing if none does.
std::optional<matched_rule> find_failure_rule(const context& c, const health& h);

}  // namespace signalbox::core::engine
