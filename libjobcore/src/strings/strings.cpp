// SPDX-License-Identifier: Apache-2.0
#include "jobcore/strings.hpp"

#include "kubernetes/json_string.hpp"
#include "kubernetes/utf8.hpp"

#include <algorithm>
#include <charconv>

namespace signalbox::core {
namespace {

/// No character of UTF-8 has more bytes behind its first one.
constexpr std::size_t most_continued = 3;

constexpr std::string_view hex_digits = "0123456789abcdef";

void append_hex(std::string& out, std::uint32_t number, unsigned digits) {
    while (digits > 0) {
        out += hex_digits[number >> (4 * --digits) & 15U];
    }
}

using kubernetes::character;
using kubernetes::first_character;

/// What a terminal obeys, or what makes a text read otherwise than it is.
bool is_control(std::uint32_t code) {
    const auto among = [code](std::uint32_t first, std::uint32_t last) {
        return code >= first && code <= last;
    };
    return code < 0x20 || among(0x7F, 0x9F) || code == 0x61C || among(0x200E, 0x200F) ||
           among(0x2028, 0x202E) || among(0x2066, 0x2069) || code == 0xFEFF;
}

/// How many bytes from the beginning are printable ASCII: nearly all of nearly every text.
std::size_t plain_length(std::string_view text) {
    const auto* const end = std::ranges::find_if(text, [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x20 || byte >= 0x7F;
    });
    return static_cast<std::size_t>(end - text.begin());
}

/// The text with what `instead(out, rest, character)` appends for each control character and each
/// byte that is no UTF-8.
template <class Instead>
std::string without_controls(std::string_view text, Instead instead) {
    std::string out;
    out.reserve(text.size());
    while (true) {
        const std::size_t plain = plain_length(text);
        out += text.substr(0, plain);
        text.remove_prefix(plain);
        if (text.empty()) {
            return out;
        }
        const auto c = first_character(text);
        if (c.valid && !is_control(c.code)) {
            out += text.substr(0, c.bytes);
        } else {
            instead(out, text, c);
        }
        text.remove_prefix(c.bytes);
    }
}

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
    return without_controls(text, [](std::string& line, std::string_view, const character& c) {
        line.append(c.bytes, ' ');
    });
}

std::string printable(std::string_view text) {
    return without_controls(text, [](std::string& out, std::string_view rest, const character& c) {
        if (c.valid) {
            out += "\\u";
            append_hex(out, c.code, 4);
        } else {
            out += "\\x";
            append_hex(out, static_cast<unsigned char>(rest.front()), 2);
        }
    });
}

void append_json_string(std::string& out, std::string_view text) {
    kubernetes::append_json_string(out, text);
}

std::string json_string(std::string_view text) {
    return kubernetes::json_string(text);
}

void append_printable_json_string(std::string& out, std::string_view text) {
    std::string quoted;
    append_json_string(quoted, text);
    out += without_controls(quoted, [](std::string& to, std::string_view, const character& c) {
        to += "\\u";
        append_hex(to, c.code, 4);
    });
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
