// SPDX-License-Identifier: Apache-2.0
//
// Walks through one complete JSON text without building anything: values of no interest are skipped
// as slices of the text. Nesting, strings and the members it is asked for are checked; the inside
// of a skipped value only for matching brackets and ended strings.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

namespace signalbox::k8sio::protocol {

/// White space between the tokens of JSON.
constexpr bool is_blank(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/// Usage: read_members(), or `for (begin_object(); next_member(key);) { read or skip the value }`;
/// then ok() or at_end().
/// After a failure every call gives false or an empty view.
class json_cursor {
public:
    explicit json_cursor(std::string_view text) : text_(text) {}

    bool ok() const { return !failed_; }
    /// Ok, and nothing but blanks is left.
    bool at_end();

    /// Steps into an object or array. False, without a failure, if the value is another.
    bool begin_object() { return begin('{'); }
    bool begin_array() { return begin('['); }
    /// False after the last one (the bracket is then consumed) or on a failure.
    bool next_member(std::string& key);
    bool next_element();

    /// Consumes the value and gives its text.
    std::string_view skip();
    /// Consumes the value. False if it is no string (or integer), e.g. null.
    bool string(std::string& out);
    bool integer(std::int64_t& out);

private:
    bool begin(char bracket);
    bool next(char bracket);
    char peek();
    void skip_blanks();
    bool skip_string();
    bool skip_nested();
    void skip_scalar();
    bool fail();

    std::string_view text_;
    std::size_t at_ = 0;
    bool fresh_ = false;  // just inside a bracket: no comma is due
    bool failed_ = false;
};

/// A member that is read: into a text or number, which stays as it is if the value is no such, or
/// by a function that consumes the value.
struct json_member {
    std::string_view key;
    std::variant<std::string*, std::int64_t*, std::function<void(json_cursor&)>> into;
};
/// Reads members of the object that comes next, and skips the others. Another value is skipped as a
/// whole: false.
bool read_members(json_cursor& cursor, std::initializer_list<json_member> members);

/// Decodes the JSON string `quoted` (with its quotes). False if an escape is wrong.
bool decode_json_string(std::string_view quoted, std::string& out);
/// Appends `text` as a JSON string with quotes.
void append_json_string(std::string& out, std::string_view text);
/// True if `text` is a number of JSON, `true`, `false` or `null`.
bool is_json_scalar(std::string_view text);
/// True if `text` is one JSON object and nothing else.
bool is_json_object(std::string_view text);

}  // namespace signalbox::k8sio::protocol
