// SPDX-License-Identifier: Apache-2.0
//
// The few RapidJSON idioms the core needs, in one place. Documents live for the length of one call;
// none is stored: each takes 64 KiB at once, and there may be thousands of objects.
#pragma once

#include <rapidjson/document.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace signalbox::core::json {

using value = rapidjson::Value;
using document = rapidjson::Document;
using allocator = rapidjson::Document::AllocatorType;

/// Iterative parsing: nesting depth costs heap, not stack, so hostile depth cannot overflow it.
inline constexpr unsigned ascii_flags =
    rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag;
inline constexpr unsigned parse_flags = ascii_flags | rapidjson::kParseValidateEncodingFlag;

void parse(document& into, std::string_view text);

inline std::string_view view(const value& v) {
    return {v.GetString(), v.GetStringLength()};
}

/// RapidJSON takes no null pointer, not even for no characters.
inline const char* data_of(std::string_view text) {
    return text.empty() ? "" : text.data();
}

inline rapidjson::Value::StringRefType ref(std::string_view text) {
    return {data_of(text), static_cast<rapidjson::SizeType>(text.size())};
}

/// The member, or nullptr if `object` is no object, has no such member, or it is null: null means
/// absent everywhere (BEHAVIOUR.md api 1.3).
const value* find(const value& object, std::string_view key);

template <class... Keys>
const value* find(const value& object, std::string_view key, Keys... rest) {
    const value* member = find(object, key);
    return member == nullptr ? nullptr : find(*member, rest...);
}

/// The string member, or an empty text for anything else.
std::string_view string_or_empty(const value& object, std::string_view key);

std::string to_text(const value& v);
struct measured {
    std::uint64_t hash = 0;  ///< equal for equal values whose members stand in the same order
    /// Of its names and texts, and a few for each value: about those of its text.
    std::size_t bytes = 0;
};
/// At any depth.
measured measure(const value& v);

inline value copy_string(std::string_view text, allocator& a) {
    return value(data_of(text), static_cast<rapidjson::SizeType>(text.size()), a);
}

}  // namespace signalbox::core::json
