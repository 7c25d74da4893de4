// SPDX-License-Identifier: Apache-2.0
//
// The RapidJSON idioms of the embedded server. Values live in an arena for the length of one
// request; what is stored is text (a RapidJSON document per pod was measured at 65 KB).
#pragma once

#include <rapidjson/document.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::k8sio::server::json {

using value = rapidjson::Value;
using arena = rapidjson::Value::AllocatorType;

/// Deeper texts are refused: everything after the parser is recursive.
inline constexpr std::size_t max_depth = 256;

/// Parses `text` into `into`, whose strings live in `a`. On failure gives the reason.
std::optional<std::string> parse(value& into, std::string_view text, arena& a);
/// As parse, of a text that the server made of a value: what came in was checked then.
void parse_stored(value& into, std::string_view text, arena& a);

inline std::string_view view(const value& v) {
    return {v.GetString(), v.GetStringLength()};
}
inline std::string text_of(const value& v) {
    return {v.GetString(), v.GetStringLength()};
}

/// A string value that owns a copy of `text`.
inline value make_string(std::string_view text, arena& a) {
    return value(text.data(), static_cast<rapidjson::SizeType>(text.size()), a);
}
inline value object() {
    return value(rapidjson::kObjectType);
}
inline value array() {
    return value(rapidjson::kArrayType);
}
inline value copy(const value& v, arena& a) {
    return value(v, a);
}

/// The member, also if it is null; nullptr if `v` is no object or has no such member.
const value* member(const value& v, std::string_view key);
value* member(value& v, std::string_view key);

/// As member, but null counts as absent.
const value* find(const value& v, std::string_view key);
value* find(value& v, std::string_view key);
const value* find_path(const value& v, std::initializer_list<std::string_view> path);
value* find_path(value& v, std::initializer_list<std::string_view> path);
/// `path` is dotted, e.g. `spec.nodeName`.
const value* find_dotted(const value& v, std::string_view path);

/// The string at that place, or an empty text for anything else.
std::string_view string_at(const value& v, std::initializer_list<std::string_view> path);
std::optional<std::int64_t> int_at(const value& v, std::initializer_list<std::string_view> path);
bool bool_at(const value& v, std::initializer_list<std::string_view> path);

/// Adds or replaces a member.
void set(value& object, std::string_view key, value v, arena& a);
void set(value& object, std::string_view key, std::string_view text, arena& a);
void set_default(value& object, std::string_view key, std::string_view text, arena& a);
void set_default(value& object, std::string_view key, std::int64_t number, arena& a);
void remove(value& object, std::string_view key);
/// The member as an object; made if it is absent, null or of another type.
value& object_at(value& object, std::string_view key, arena& a);

/// Whether the two are one value, in whatever order members stand. RapidJSON's `==` looks for each
/// member of an object from its beginning; this takes no longer than the two are.
bool equal(const value& x, const value& y);

/// Takes out the members for which `drop(member)` holds, which is asked once for each, in order. To
/// erase one after the other moves all behind it each time.
template <class Drop>
void erase_members(value& object, Drop drop) {
    auto kept = object.MemberBegin();
    for (auto it = kept; it != object.MemberEnd(); ++it) {
        if (drop(*it)) {
            continue;
        }
        if (kept != it) {
            kept->name = it->name;  // they move
            kept->value = it->value;
        }
        ++kept;
    }
    if (kept != object.MemberEnd()) {
        object.EraseMember(kept, object.MemberEnd());
    }
}

/// Drops members that are null, at any depth.
void drop_nulls(value& v);

std::string to_text(const value& v);
/// Like JavaScript's JSON of a scalar, for messages: strings without quotes.
std::string scalar_text(const value& v);

}  // namespace signalbox::k8sio::server::json
