// SPDX-License-Identifier: Apache-2.0
#include "cli/colour.hpp"

#include <jobcore/strings.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>

#include <unistd.h>

namespace signalbox::op::cli {

namespace {

constexpr std::string_view end_of_colour = "\x1b[0m";

std::string_view variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string_view() : std::string_view(value);
}

/// In the order of the enumeration.
constexpr std::array<std::string_view, 9> sequences{
    "",
    "\x1b[31m",
    "\x1b[32m",
    "\x1b[33m",
    "\x1b[34m",
    "\x1b[35m",
    "\x1b[36m",
    "\x1b[2m",
    "\x1b[1m"};

}  // namespace

bool output_has_colours() {
    return ::isatty(STDOUT_FILENO) == 1 && variable("NO_COLOR").empty() &&
           variable("TERM") != "dumb";
}

std::string painted(std::string_view text, colour c) {
    const std::string_view begin = sequences.at(static_cast<std::size_t>(c));
    return begin.empty() ? std::string(text)
                         : std::string(begin) + std::string(text) + std::string(end_of_colour);
}

std::size_t visible_width(std::string_view text) {
    std::size_t out = core::count_characters(text);
    for (std::size_t at = text.find('\x1b'); at != std::string_view::npos;
         at = text.find('\x1b', at + 1)) {
        const std::size_t end = std::min(text.find('m', at), text.size() - 1) + 1;
        out -= core::count_characters(text.substr(at, end - at));
    }
    return out;
}

std::string cut_to(std::string_view line, std::size_t most) {
    std::string out;
    std::size_t used = 0;
    bool open = false;
    for (std::size_t i = 0; i < line.size();) {
        if (line[i] == '\x1b') {
            const std::size_t end = std::min(line.find('m', i), line.size() - 1) + 1;
            const std::string_view escape = line.substr(i, end - i);
            open = escape != end_of_colour;
            out += escape;
            i = end;
            continue;
        }
        const bool begins = (static_cast<unsigned char>(line[i]) & 0xC0U) != 0x80U;
        if (begins && used++ == most) {
            break;
        }
        out += line[i++];
    }
    return open ? out + std::string(end_of_colour) : out;
}

}  // namespace signalbox::op::cli
