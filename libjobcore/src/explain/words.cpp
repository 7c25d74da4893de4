// SPDX-License-Identifier: Apache-2.0
#include "explain/words.hpp"

#include "jobcore/strings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace signalbox::core::explaining {
namespace {

struct unit {
    std::int64_t seconds;
    std::string_view name;
};
constexpr std::array<unit, 4> units{{{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}}};

/// A message of a condition as a whole: what is quoted there, and whose it is (BEHAVIOUR.md 3.9).
constexpr std::size_t most_quoted = 1280;

}  // namespace

std::string words_of(milliseconds duration) {
    const milliseconds length = duration < milliseconds(0) ? -duration : duration;
    const std::int64_t total = std::chrono::floor<seconds>(length).count();
    for (std::size_t i = 0; i + 1 < units.size(); ++i) {
        // 90 s reads better than 1 min 30 s; so with the other units.
        if (total < units[i].seconds * 2) {
            continue;
        }
        const std::int64_t rest = total % units[i].seconds / units[i + 1].seconds;
        std::string text = fmt::format("{} {}", total / units[i].seconds, units[i].name);
        if (rest > 0) {
            text += fmt::format(" {} {}", rest, units[i + 1].name);
        }
        return text;
    }
    return fmt::format("{} s", total);
}

std::string words_of(instant t, instant now) {
    const milliseconds distance = t - now;
    if (distance > milliseconds(-1000) && distance < milliseconds(1000)) {
        return fmt::format("{} (now)", format_time(t));
    }
    return distance > milliseconds(0)
               ? fmt::format("{} (in {})", format_time(t), words_of(distance))
               : fmt::format("{} ({} ago)", format_time(t), words_of(distance));
}

std::string counted(std::int64_t n, std::string_view noun) {
    return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

std::string list_of(std::span<const std::string> names, std::size_t most) {
    // One more name is as short as `and 1 more`.
    const std::size_t shown = names.size() <= most + 1 ? names.size() : most;
    std::string text;
    for (std::size_t i = 0; i < shown; ++i) {
        const bool last = i + 1 == names.size();
        text += i == 0 ? "" : last ? " and " : ", ";
        text += names[i];
    }
    if (shown < names.size()) {
        text += fmt::format(" and {} more", names.size() - shown);
    }
    return text;
}

std::string quoted_text(std::string_view text) {
    std::string out = in_one_line(first_bytes(text, most_quoted));
    while (!out.empty() && (out.back() == ' ' || out.back() == '.')) {
        out.pop_back();
    }
    return out;
}

std::string sentence(std::string text) {
    // A path, a host or a name of a field stays as it is.
    const std::string_view word = std::string_view(text).substr(0, text.find(' '));
    if (!word.empty() && word.front() >= 'a' && word.front() <= 'z' &&
        word.find('.') == word.npos) {
        text.front() = static_cast<char>(text.front() - 'a' + 'A');
    }
    return text;
}

}  // namespace signalbox::core::explaining
