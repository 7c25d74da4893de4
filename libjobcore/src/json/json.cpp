// SPDX-License-Identifier: Apache-2.0
//
// Out of line: RapidJSON's parser and writer are compiled here once, not in each unit that reads.
#include "json/json.hpp"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

namespace signalbox::core::json {

void parse(document& into, std::string_view text) {
    into.Parse<parse_flags>(text.data(), text.size());
}

const value* find(const value& object, std::string_view key) {
    if (!object.IsObject()) {
        return nullptr;
    }
    const auto it = object.FindMember(value(ref(key)));
    return it == object.MemberEnd() || it->value.IsNull() ? nullptr : &it->value;
}

std::string_view string_or_empty(const value& object, std::string_view key) {
    const value* member = find(object, key);
    return member != nullptr && member->IsString() ? view(*member) : std::string_view{};
}

std::string quoted(std::string_view text) {
    return to_text(value(ref(text)));
}

std::string to_text(const value& v) {
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
    v.Accept(writer);
    return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace signalbox::core::json
