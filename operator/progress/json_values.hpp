// SPDX-License-Identifier: Apache-2.0
//
// Looks into JSON of others, which may be anything. Null stands for what is not there.
#pragma once

#include <rapidjson/document.h>

#include <string_view>

namespace signalbox::op::progress {

using json_value = rapidjson::Value;

/// Iterative: depth costs no stack.
inline constexpr unsigned json_flags =
    rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag;

/// The member of an object.
inline const json_value* find(const json_value* in, const char* name) {
    if (in == nullptr || !in->IsObject()) {
        return nullptr;
    }
    const auto it = in->FindMember(name);
    return it == in->MemberEnd() ? nullptr : &it->value;
}

/// A text; empty if it is none.
///
/// Lifetimes: as the value.
inline std::string_view text_of(const json_value* v) {
    return v != nullptr && v->IsString() ? std::string_view(v->GetString(), v->GetStringLength())
                                         : std::string_view();
}

}  // namespace signalbox::op::progress
