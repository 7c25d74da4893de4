// SPDX-License-Identifier: Apache-2.0
#include "engine/facts/code_place.hpp"

#include "engine/facts/line_words.hpp"

#include <algorithm>
#include <array>

namespace signalbox::core::engine {
namespace {

/// Not of a library, and not of Python itself.
bool is_own(const code_place& place) {
    constexpr std::array<std::string_view, 3> others{
        "/site-packages/", "/dist-packages/", "/lib/python3"};
    return !place.file.empty() && place.file.front() != '<' &&
           std::ranges::none_of(others, [&](auto part) {
               return place.file.find(part) != place.file.npos;
           });
}

}  // namespace

std::optional<code_place> read_place(std::string_view line) {
    constexpr std::string_view head = "File \"", middle = "\", line ", function = ", in ";
    const std::size_t start = line.find_first_not_of(" \t");
    if (start == line.npos || !line.substr(start).starts_with(head)) {
        return std::nullopt;
    }
    line.remove_prefix(start + head.size());
    const std::size_t quote = line.find(middle);
    if (quote == line.npos || quote == 0) {
        return std::nullopt;
    }
    code_place out;
    out.file = line.substr(0, quote);
    line.remove_prefix(quote + middle.size());
    out.line = line.substr(0, std::min(line.find_first_not_of(digits), line.size()));
    line.remove_prefix(out.line.size());
    if (line.starts_with(function)) {
        out.function = line.substr(function.size());
    }
    return out.line.empty() ? std::nullopt : std::optional(out);
}

void keep_innermost(code_place& kept, const code_place& next) {
    if (is_own(next) || !is_own(kept)) {
        kept = next;
    }
}

std::string to_text(const code_place& place) {
    if (place.file.empty()) {
        return {};
    }
    std::string out = " (" + std::string(place.file) + ":" + std::string(place.line);
    if (!place.function.empty()) {
        out += ", in " + std::string(place.function);
    }
    return out + ")";
}

code_place find_place(std::string_view traceback) {
    code_place out;
    for_each_line(traceback, [&](std::string_view line) {
        if (const auto place = read_place(line)) {
            keep_innermost(out, *place);
        }
    });
    return out;
}

}  // namespace signalbox::core::engine
