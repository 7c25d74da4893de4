// SPDX-License-Identifier: Apache-2.0
#include "cli/text_layout.hpp"

#include "cli/colour.hpp"

#include <sys/ioctl.h>

#include <algorithm>
#include <cctype>

#include <unistd.h>

namespace signalbox::op::cli {

std::string lower(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(), [](unsigned char c) {
        return static_cast<char>(std::tolower(c));
    });
    return out;
}

std::string shell_word(const std::string& path) {
    constexpr std::string_view plain = "/._-+,:@";
    if (!path.empty() && std::ranges::all_of(path, [&](unsigned char c) {
            return std::isalnum(c) != 0 || plain.find(static_cast<char>(c)) != plain.npos;
        })) {
        return path;
    }
    std::string out = "'";
    for (const char c : path) {
        out += c == '\'' ? std::string(R"('\'')") : std::string(1, c);
    }
    return out + '\'';
}

std::size_t output_width() {
    constexpr std::size_t narrowest = 40;
    constexpr std::size_t widest = 100;
    winsize size{};
    const bool known = ::isatty(STDOUT_FILENO) == 1 &&
                       ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? std::clamp<std::size_t>(size.ws_col, narrowest, widest) : widest;
}

std::string wrapped(
    std::string_view text, std::string_view first, std::string_view rest, std::size_t width
) {
    std::string out(first);
    std::size_t column = visible_width(first);
    bool at_start = true;
    while (!text.empty()) {
        const std::size_t space = text.find(' ');
        const std::string_view word = text.substr(0, space);
        if (!at_start && column + 1 + visible_width(word) > width) {
            out += '\n';
            out += rest;
            column = visible_width(rest);
            at_start = true;
        }
        if (!at_start) {
            out += ' ';
            ++column;
        }
        out += word;
        column += visible_width(word);
        at_start = false;
        text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    }
    return out + '\n';
}

std::string wrapped_lines(std::string_view text, std::size_t width) {
    std::string out;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
        const std::string_view margin = line.substr(0, indent);
        out += wrapped(line.substr(indent), margin, margin, width);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return out;
}

}  // namespace signalbox::op::cli
