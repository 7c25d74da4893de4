// SPDX-License-Identifier: Apache-2.0
//
// Reading members of JSON objects that may be absent or of another type.
#pragma once

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::op::pods {

using json_value = rapidjson::Value;

/// False if the text is no object.
inline bool parse(rapidjson::Document& into, std::string_view json) {
    into.Parse<rapidjson::kParseIterativeFlag>(json.data(), json.size());
    return !into.HasParseError() && into.IsObject();
}

inline std::string to_text(const json_value& value) {
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
    value.Accept(writer);
    return {buffer.GetString(), buffer.GetSize()};
}

/// Null if there is none.
inline const json_value& member(const json_value& object, std::string_view key) {
    static const json_value absent;
    if (!object.IsObject()) {
        return absent;
    }
    const auto it = object.FindMember(json_value(rapidjson::StringRef(key.data(), key.size())));
    return it == object.MemberEnd() ? absent : it->value;
}

inline std::string_view text_of(const json_value& v) {
    return v.IsString() ? std::string_view(v.GetString(), v.GetStringLength()) : "";
}

/// Empty if there is none.
inline std::string_view text(const json_value& object, std::string_view key) {
    return text_of(member(object, key));
}

inline bool flag(const json_value& object, const char* key, bool otherwise = false) {
    const json_value& v = member(object, key);
    return v.IsBool() ? v.GetBool() : otherwise;
}

inline std::optional<std::int64_t> whole_number(const json_value& object, const char* key) {
    const json_value& v = member(object, key);
    return v.IsInt64() ? std::optional(v.GetInt64()) : std::nullopt;
}

/// A text, or a number as text, as quantities and ports are written.
inline std::string text_or_number(const json_value& v) {
    if (v.IsInt64()) {
        return std::to_string(v.GetInt64());
    }
    return v.IsDouble() ? std::to_string(v.GetDouble()) : std::string(text_of(v));
}

template <class Each>
void for_each(const json_value& list, Each&& each) {
    if (list.IsArray()) {
        for (const json_value& item : list.GetArray()) {
            each(item);
        }
    }
}

/// `each` gets name and value.
template <class Each>
void for_each_member(const json_value& object, Each&& each) {
    if (object.IsObject()) {
        for (const auto& m : object.GetObject()) {
            each(text_of(m.name), m.value);
        }
    }
}

inline std::vector<std::string> texts(const json_value& list) {
    std::vector<std::string> out;
    for_each(list, [&](const json_value& item) { out.emplace_back(text_of(item)); });
    return out;
}

}  // namespace signalbox::op::pods
