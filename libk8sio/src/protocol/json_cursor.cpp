// SPDX-License-Identifier: Apache-2.0
#include "protocol/json_cursor.hpp"

#include "kubernetes/json_string.hpp"

#include <algorithm>
#include <charconv>

namespace signalbox::k8sio::protocol {

namespace {

bool is_scalar_char(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-' || c == '+' || c == '.' ||
           c == 'E';
}

/// Takes the digits at the front of `text`; gives how many there were.
std::size_t take_digits(std::string_view& text) {
    const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(count);
    return count;
}

bool take_one_of(std::string_view& text, std::string_view chars) {
    const bool found = !text.empty() && chars.find(text.front()) != chars.npos;
    text.remove_prefix(found ? 1 : 0);
    return found;
}

bool is_json_number(std::string_view text) {
    take_one_of(text, "-");
    const bool zero = text.starts_with('0');
    const std::size_t whole = take_digits(text);
    if (whole == 0 || (zero && whole > 1)) {
        return false;
    }
    if (take_one_of(text, ".") && take_digits(text) == 0) {
        return false;
    }
    if (take_one_of(text, "eE")) {
        take_one_of(text, "+-");
        if (take_digits(text) == 0) {
            return false;
        }
    }
    return text.empty();
}

void append_utf8(std::string& out, std::uint32_t code) {
    const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
    if (code < 0x80) {
        put(code);
    } else if (code < 0x800) {
        put(0xC0 | (code >> 6));
        put(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        put(0xE0 | (code >> 12));
        put(0x80 | ((code >> 6) & 0x3F));
        put(0x80 | (code & 0x3F));
    } else {
        put(0xF0 | (code >> 18));
        put(0x80 | ((code >> 12) & 0x3F));
        put(0x80 | ((code >> 6) & 0x3F));
        put(0x80 | (code & 0x3F));
    }
}

bool read_hex4(std::string_view text, std::size_t at, std::uint32_t& code) {
    if (text.size() < at + 4) {
        return false;
    }
    const char* first = text.data() + at;
    const auto [end, error] = std::from_chars(first, first + 4, code, 16);
    return error == std::errc{} && end == first + 4;
}

/// Decodes `\uXXXX` (and a low surrogate after a high one) whose `u` is at `at`; moves behind it.
bool decode_unicode(std::string_view text, std::size_t& at, std::string& out) {
    std::uint32_t code = 0;
    if (!read_hex4(text, at + 1, code)) {
        return false;
    }
    at += 5;
    if (code >= 0xD800 && code < 0xDC00) {
        std::uint32_t low = 0;
        if (text.substr(at, 2) != "\\u" || !read_hex4(text, at + 2, low) || low < 0xDC00 ||
            low > 0xDFFF) {
            return false;
        }
        at += 6;
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xDC00 && code <= 0xDFFF) {
        return false;
    }
    append_utf8(out, code);
    return true;
}

char simple_escape(char c) {
    switch (c) {
        case 'b':
            return '\b';
        case 'f':
            return '\f';
        case 'n':
            return '\n';
        case 'r':
            return '\r';
        case 't':
            return '\t';
        case '"':
        case '\\':
        case '/':
            return c;
        default:
            return '\0';
    }
}

}  // namespace

bool decode_json_string(std::string_view quoted, std::string& out) {
    out.clear();
    if (quoted.size() < 2) {
        return false;
    }
    const std::string_view text = quoted.substr(1, quoted.size() - 2);
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t plain = std::min(text.find('\\', at), text.size()) - at;
        out.append(text, at, plain);
        at += plain;
        if (at == text.size()) {
            break;
        }
        if (++at == text.size()) {
            return false;
        }
        if (text[at] == 'u') {
            if (!decode_unicode(text, at, out)) {
                return false;
            }
            continue;
        }
        const char c = simple_escape(text[at++]);
        if (c == '\0') {
            return false;
        }
        out += c;
    }
    return true;
}

void append_json_string(std::string& out, std::string_view text) {
    kubernetes::append_json_string(out, text);
}

bool is_json_scalar(std::string_view text) {
    return text == "true" || text == "false" || text == "null" || is_json_number(text);
}

bool is_json_object(std::string_view text) {
    json_cursor cursor(text);
    return cursor.skip().substr(0, 1) == "{" && cursor.at_end();
}

bool json_cursor::fail() {
    failed_ = true;
    at_ = text_.size();
    return false;
}

void json_cursor::skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) {
        ++at_;
    }
}

char json_cursor::peek() {
    skip_blanks();
    return at_ < text_.size() ? text_[at_] : '\0';
}

bool json_cursor::at_end() {
    skip_blanks();
    return !failed_ && at_ == text_.size();
}

bool json_cursor::begin(char bracket) {
    if (failed_ || peek() != bracket) {
        return false;
    }
    ++at_;
    fresh_ = true;
    return true;
}

/// To the next member or element; `bracket` is the closing one.
bool json_cursor::next(char bracket) {
    if (failed_) {
        return false;
    }
    const bool first = fresh_;
    fresh_ = false;
    const char c = peek();
    if (c == bracket) {
        ++at_;
        return false;
    }
    if (first) {
        return true;
    }
    if (c != ',') {
        return fail();
    }
    ++at_;
    return peek() == bracket ? fail() : true;  // no comma before the end
}

bool json_cursor::next_member(std::string& key) {
    if (!next('}')) {
        return false;
    }
    if (peek() != '"') {
        return fail();
    }
    const std::size_t begin = at_;
    if (!skip_string() || !decode_json_string(text_.substr(begin, at_ - begin), key)) {
        return fail();
    }
    if (peek() != ':') {
        return fail();
    }
    ++at_;
    return true;
}

bool json_cursor::next_element() {
    return next(']');
}

std::string_view json_cursor::skip() {
    const char c = peek();
    const std::size_t begin = at_;
    if (c == '"') {
        skip_string();
    } else if (c == '{' || c == '[') {
        skip_nested();
    } else {
        skip_scalar();
    }
    fresh_ = false;
    return failed_ ? std::string_view{} : text_.substr(begin, at_ - begin);
}

bool json_cursor::string(std::string& out) {
    const std::string_view value = skip();
    if (value.empty() || value.front() != '"') {
        return false;
    }
    return decode_json_string(value, out) || fail();
}

bool json_cursor::integer(std::int64_t& out) {
    const std::string_view value = skip();
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    const bool whole = !value.empty() && error == std::errc{} && end == value.data() + value.size();
    out = whole ? number : out;
    return whole;
}

bool read_members(json_cursor& cursor, std::initializer_list<json_member> members) {
    if (!cursor.begin_object()) {
        cursor.skip();
        return false;
    }
    for (std::string key; cursor.next_member(key);) {
        const auto found = std::find_if(members.begin(), members.end(), [&key](const auto& each) {
            return each.key == key;
        });
        if (found == members.end()) {
            cursor.skip();
        } else if (const auto* text = std::get_if<std::string*>(&found->into)) {
            cursor.string(**text);
        } else if (const auto* number = std::get_if<std::int64_t*>(&found->into)) {
            cursor.integer(**number);
        } else {
            std::get<2>(found->into)(cursor);
        }
    }
    return true;
}

bool json_cursor::skip_string() {
    for (std::size_t from = at_ + 1;;) {
        const std::size_t quote = text_.find('"', from);
        if (quote == text_.npos) {
            return fail();
        }
        std::size_t slashes = quote;
        while (slashes > from && text_[slashes - 1] == '\\') {
            --slashes;
        }
        // Two of them are one character.
        if ((quote - slashes) % 2 == 0) {
            at_ = quote + 1;
            return true;
        }
        from = quote + 1;
    }
}

bool json_cursor::skip_nested() {
    std::string open;  // closing brackets that are due; no recursion, so depth costs no stack
    while (at_ < text_.size()) {
        const char c = text_[at_];
        if (c == '"') {
            if (!skip_string()) {
                return false;
            }
            continue;
        }
        ++at_;
        if (c == '{' || c == '[') {
            open += c == '{' ? '}' : ']';
        } else if (c == '}' || c == ']') {
            if (open.back() != c) {
                return fail();
            }
            open.pop_back();
            if (open.empty()) {
                return true;
            }
        }
    }
    return fail();
}

void json_cursor::skip_scalar() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_scalar_char(text_[at_])) {
        ++at_;
    }
    if (at_ == begin) {
        fail();
    }
}

}  // namespace signalbox::k8sio::protocol
