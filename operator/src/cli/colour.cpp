// SPDX-License-Identifier: Apache-2.0
#include "cli/colour.hpp"

#include <algorithm>
#include <cstdlib>

#include <unistd.h>

namespace signalbox::op::cli {

namespace {

constexpr std::string_view end_of_colour = "\x1b[0m";

std::string_view variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string_view() : std::string_view(value);
}

std::string_view sequence(colour c) {
    switch (c) {
        case colour::red:
            return "\x1b[31m";
        case colour::green:
            return "\x1b[32m";
        case colour::yellow:
            return "\x1b[33m";
        case colour::faint:
            return "\x1b[2m";
        case colour::none:
            break;
    }
    return "";
}

}  // namespace

bool output_has_colours() {
    return ::isatty(STDOUT_FILENO) == 1 && variable("NO_COLOR").empty() &&
           variable("TERM") != "dumb";
}

std::string painted(std::string_view text, colour c) {
    const std::string_view begin = sequence(c);
    return begin.empty() ? std::string(text)
                         : std::string(begin) + std::string(text) + std::string(end_of_colour);
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
