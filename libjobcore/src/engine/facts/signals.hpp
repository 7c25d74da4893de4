// SPDX-License-Identifier: Apache-2.0
//
// Signals that end a program which did not ask for them, in the words of BEHAVIOUR.md 3.9.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace signalbox::core::engine {

inline constexpr std::int32_t sigkill = 9;

/// `a rank was killed by signal 9, SIGKILL`; empty for any other signal. Lasts as long as the
/// program.
inline std::string_view rank_killed_by(std::int32_t signal) {
    using row = std::pair<std::int32_t, std::string_view>;
    constexpr static std::array<row, 7> words{{
        {4, "a rank was killed by signal 4, SIGILL"},
        {6, "a rank was killed by signal 6, SIGABRT"},
        {7, "a rank was killed by signal 7, SIGBUS"},
        {8, "a rank was killed by signal 8, SIGFPE"},
        {9, "a rank was killed by signal 9, SIGKILL"},
        {11, "a rank was killed by signal 11, SIGSEGV"},
        {15, "a rank was killed by signal 15, SIGTERM"},
    }};
    const auto* known = std::ranges::find(words, signal, &row::first);
    return known == words.end() ? std::string_view() : known->second;
}

/// `killed by signal 9, SIGKILL`, of anybody; likewise.
inline std::string_view killed_by(std::int32_t signal) {
    constexpr std::string_view who = "a rank was ";
    const std::string_view words = rank_killed_by(signal);
    return words.empty() ? words : words.substr(who.size());
}

}  // namespace signalbox::core::engine
