// SPDX-License-Identifier: Apache-2.0
//
// Durations as people write them.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace signalbox::op {

using duration = std::chrono::nanoseconds;

/// A duration that does not end.
inline constexpr duration never = duration::max();

/// `300ms`, `2s`, `1.5s`, `1m`, `1h`, `7d`, a number of seconds, `never` or `forever`. Nothing for
/// others, for numbers above a million, and for more than a million hours.
std::optional<duration> parse_duration(std::string_view text);

}  // namespace signalbox::op
