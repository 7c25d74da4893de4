// SPDX-License-Identifier: Apache-2.0
#include "jobcore/strings.hpp"

#include <algorithm>
#include <charconv>

namespace signalbox::core {
namespace {

/// No character of UTF-8 has more bytes behind its first one.
constexpr std::size_t most_continued = 3;

}  // namespace

std::string_view first_bytes(std::string_view text, std::size_t limit) {
    if (text.size() <= limit) {
        return text;
    }
    for (std::size_t back = 0; back <= std::min(limit, most_continued); ++back) {
        if (!continues_character(text[limit - back])) {
            return text.substr(0, limit - back);
        }
    }
    return text.substr(0, limit);
}

std::string_view last_bytes(std::string_view text, std::size_t limit) {
    if (text.size() <= limit) {
        return text;
    }
    const std::size_t start = text.size() - limit;
    for (std::size_t ahead = 0; ahead <= std::min(limit, most_continued); ++ahead) {
        if (ahead == limit || !continues_character(text[start + ahead])) {
            return text.substr(start + ahead);
        }
    }
    return text.substr(start);
}

std::size_t count_characters(std::string_view text) {
    return text.size() -
           static_cast<std::size_t>(std::count_if(text.begin(), text.end(), continues_character));
}

std::string in_one_line(std::string_view text) {
    std::string line(text);
    std::ranges::replace_if(
        line, [](char c) { return static_cast<unsigned char>(c) < 0x20U || c == 0x7F; }, ' '
    );
    return line;
}

void append_json_string(std::string& out, std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    out += '"';
    for (const char c : text) {
        switch (c) {
            case '"':
                out += "\\\"";
                break;
            case '\\':
                out += "\\\\";
                break;
            case '\n':
                out += "\\n";
                break;
            case '\t':
                out += "\\t";
                break;
            case '\r':
                out += "\\r";
                break;
            default: {
                const auto byte = static_cast<unsigned char>(c);
                if (byte < 0x20) {
                    out += "\\u00";
                    out += digits[byte >> 4U];
                    out += digits[byte & 15U];
                } else {
                    out += c;
                }
            }
        }
    }
    out += '"';
}

std::string json_string(std::string_view text) {
    std::string out;
    append_json_string(out, text);
    return out;
}

std::string child_pointer(std::string_view parent, std::string_view token) {
    std::string pointer(parent);
    pointer += '/';
    for (const char c : token) {
        if (c == '~') {
            pointer += "~0";
        } else if (c == '/') {
            pointer += "~1";
        } else {
            pointer += c;
        }
    }
    return pointer;
}

std::string child_pointer(std::string_view parent, std::size_t index) {
    return child_pointer(parent, std::to_string(index));
}

std::optional<std::uint64_t> read_digits(std::string_view text) {
    // from_chars takes no `+` and no space, and an unsigned number has no `-`.
    std::uint64_t n = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, n);
    return error == std::errc{} && rest == end ? std::optional(n) : std::nullopt;
}

}  // namespace signalbox::core
