// SPDX-License-Identifier: Apache-2.0
//
// What the engine's reasons mean, in sentences: one row per reason of engine/facts/reasons.hpp.
#pragma once

#include "engine/facts/reasons.hpp"

#include <algorithm>
#include <span>
#include <string_view>

namespace signalbox::core::explaining {

/// What a value of an enumeration of the engine means.
template <class Value>
struct meaning {
    Value what;
    std::string_view text;  ///< a sentence without its full stop
    std::string_view rule;
    /// The condition's message adds to it: a server's words, a pod's last words.
    bool quote = false;
};
// clang 16 has no guides for aggregates.
template <class Value>
meaning(Value, std::string_view, std::string_view, bool = false) -> meaning<Value>;

/// Reasons of phases (`status.reason`).
std::span<const meaning<engine::reason>> phase_meanings();
/// Causes of incidents (`restarts.last.cause`): what is to be said of the pods, after their names.
std::span<const meaning<engine::cause>> cause_meanings();
/// What happens when the time of a `nextTransition` has come.
std::span<const meaning<engine::awaited>> transition_meanings();

/// The row of what is said there, or null.
template <class Value>
const meaning<Value>* find_meaning(std::span<const meaning<Value>> table, Value what) {
    const auto it = std::ranges::find(table, what, &meaning<Value>::what);
    return it == table.end() ? nullptr : &*it;
}
/// Of a text of a status.
template <class Value>
const meaning<Value>* find_meaning(std::span<const meaning<Value>> table, std::string_view text) {
    const auto what = engine::parse<Value>(text);
    return what ? find_meaning(table, *what) : nullptr;
}

}  // namespace signalbox::core::explaining
