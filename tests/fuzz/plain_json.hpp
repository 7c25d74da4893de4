// SPDX-License-Identifier: Apache-2.0
//
// JSON by a parser that builds everything: what the readers that build nothing are compared with.
#pragma once

#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::fuzz {

constexpr unsigned json_flags =
    rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag;

/// True if a text has half a pair of surrogates, which RapidJSON lets pass.
inline bool has_half_pair(const rapidjson::Value& value) {
    const std::string_view text(value.GetString(), value.GetStringLength());
    for (std::size_t i = 0; i + 1 < text.size(); ++i) {
        if (text[i] == '\xED' && static_cast<unsigned char>(text[i + 1]) >= 0xA0) {
            return true;
        }
    }
    return false;
}

/// True if all readers agree about the value: no object has two members of one name, no text half a
/// pair of surrogates.
inline bool is_plain(const rapidjson::Value& value) {
    std::vector<const rapidjson::Value*> open{&value};
    while (!open.empty()) {
        const rapidjson::Value& at = *open.back();
        open.pop_back();
        if (at.IsString() && has_half_pair(at)) {
            return false;
        }
        if (at.IsArray()) {
            for (const rapidjson::Value& each : at.GetArray()) {
                open.push_back(&each);
            }
        } else if (at.IsObject()) {
            std::set<std::string> names;
            for (const auto& member : at.GetObject()) {
                if (!names.emplace(member.name.GetString(), member.name.GetStringLength()).second) {
                    return false;
                }
                open.push_back(&member.name);
                open.push_back(&member.value);
            }
        }
    }
    return true;
}

/// True if `text` is one plain object in JSON.
inline bool parse_plain(rapidjson::Document& into, std::string_view text) {
    into.Parse<json_flags>(text.data(), text.size());
    return !into.HasParseError() && into.IsObject() && is_plain(into);
}

/// The text of a member; empty if it is not there or something else.
inline std::string text_at(const rapidjson::Value& object, const char* name) {
    const auto found = object.FindMember(name);
    return found != object.MemberEnd() && found->value.IsString()
               ? std::string(found->value.GetString(), found->value.GetStringLength())
               : std::string();
}

/// The objects that stand one behind the other in `text`, with blanks around them. Nothing if there
/// is anything else, or one is larger than `limit`.
inline std::optional<std::vector<std::string>> parse_sequence(
    std::string_view text, std::size_t limit
) {
    std::vector<std::string> out;
    for (;;) {
        text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
        if (text.empty()) {
            return out;
        }
        rapidjson::MemoryStream stream(text.data(), text.size());
        rapidjson::Document one;
        one.ParseStream<json_flags | rapidjson::kParseStopWhenDoneFlag>(stream);
        if (one.HasParseError() || !one.IsObject() || stream.Tell() > limit) {
            return std::nullopt;
        }
        out.emplace_back(text.substr(0, stream.Tell()));
        text.remove_prefix(stream.Tell());
    }
}

}  // namespace signalbox::fuzz
