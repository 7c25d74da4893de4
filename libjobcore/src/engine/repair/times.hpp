// SPDX-License-Identifier: Apache-2.0
//
// The record of where the time went, where it cannot be (BEHAVIOUR.md 13.1).
#pragma once

#include "engine/facts/inputs.hpp"

#include <optional>

namespace signalbox::core::engine {

/// A record that adds up, of a job that has not ended; nothing where that of `s` does. One that is
/// not there is no damage: older versions wrote none.
std::optional<time_spent> find_true_time(const inputs& in, const job_status& s);

}  // namespace signalbox::core::engine
