// SPDX-License-Identifier: Apache-2.0
//
// Points in time and durations of the core. All instants are API-server time, handed in by the
// caller; nothing in this library reads a clock. The functions here may be called from any thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox::core {

using milliseconds = std::chrono::milliseconds;
using seconds = std::chrono::seconds;

/// A point in API-server time, in milliseconds since the Unix epoch.
using instant = std::chrono::sys_time<milliseconds>;

/// Gives `2026-01-31T12:00:00Z`; fractions of a second are cut off (see round_up_to_second). For
/// years 0 to 9999.
std::string format_time(instant t);

/// Reads RFC 3339 with or without fraction, with `Z` or an offset; what is below a millisecond is
/// cut off, and a leap second is the second after it. Nothing for any other text.
std::optional<instant> parse_time(std::string_view text);

/// Times before which nothing may happen are rounded up to whole seconds (BEHAVIOUR.md 4.14).
constexpr instant round_up_to_second(instant t) {
    return std::chrono::ceil<seconds>(t);
}

/// All other recorded times are rounded down to whole seconds (BEHAVIOUR.md 4.14).
constexpr instant round_down_to_second(instant t) {
    return std::chrono::floor<seconds>(t);
}

}  // namespace signalbox::core
