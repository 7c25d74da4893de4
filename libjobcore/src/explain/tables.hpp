// SPDX-License-Identifier: Apache-2.0
//
// What the engine's reasons mean, in sentences: one row per reason of engine/facts/reasons.hpp.
#pragma once

#include <span>
#include <string_view>

namespace signalbox::core::explaining {

struct meaning {
    std::string_view reason;
    std::string_view text;  ///< a sentence without its full stop
    std::string_view rule;
    /// The condition's message adds to it: a server's words, a pod's last words.
    bool quote = false;
};

/// Reasons of phases (`status.reason`).
std::span<const meaning> phase_meanings();
/// Causes of incidents (`restarts.last.cause`): what is to be said of the pods, after their names.
std::span<const meaning> cause_meanings();
/// What happens when the time of a `nextTransition` has come.
std::span<const meaning> transition_meanings();

/// The row of that reason, or null.
const meaning* find_meaning(std::span<const meaning> table, std::string_view reason);

}  // namespace signalbox::core::explaining
