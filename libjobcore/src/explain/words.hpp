// SPDX-License-Identifier: Apache-2.0
//
// How times, counts and lists are said.
#pragma once

#include "jobcore/time.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace signalbox::core::explaining {

/// `45 s`, `5 min 20 s`, `3 h 5 min`, `2 d 4 h`. Negative ones as their absolute value.
std::string words_of(milliseconds duration);

/// `2026-01-31T12:00:00Z (in 40 s)`, `... (5 min ago)`, `... (now)`.
std::string words_of(instant t, instant now);

/// `1 pod`, `2 pods`.
std::string counted(std::int64_t n, std::string_view noun);

/// `a, b and c`; beyond `most` names `a, b and 7 more`. Empty for no names.
std::string list_of(std::span<const std::string> names, std::size_t most = 6);

/// What others wrote, as part of one line: control characters become spaces, no full stop at the
/// end, at most 1,280 bytes.
std::string quoted_text(std::string_view text);

/// With its first letter as a capital, unless the first word is a path: the beginning of a
/// sentence.
std::string sentence(std::string text);

}  // namespace signalbox::core::explaining
