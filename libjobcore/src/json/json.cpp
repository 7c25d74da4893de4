// SPDX-License-Identifier: Apache-2.0
//
// Out of line: RapidJSON's parser and writer are compiled here once, not in each unit that reads.
#include "json/json.hpp"

#include "jobcore/strings.hpp"
#include "strings/fnv1a.hpp"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

namespace signalbox::core::json {

namespace {

bool is_ascii(std::string_view text) {
    std::uint64_t seen = 0;
    for (; text.size() >= sizeof seen; text.remove_prefix(sizeof seen)) {
        std::uint64_t eight = 0;
        std::memcpy(&eight, text.data(), sizeof eight);
        seen |= eight;
    }
    const auto above = [](char c) { return static_cast<unsigned char>(c) > 0x7f; };
    return (seen & 0x8080808080808080U) == 0 && std::none_of(text.begin(), text.end(), above);
}

}  // namespace

void parse(document& into, std::string_view text) {
    // RapidJSON's check of encodings looks at each character on its own, which doubles the time.
    if (is_ascii(text)) {
        into.Parse<ascii_flags>(text.data(), text.size());
    } else {
        into.Parse<parse_flags>(text.data(), text.size());
    }
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

measured measure(const value& v) {
    constexpr std::size_t of_each = 4;  // quotes, commas, colons, brackets
    fnv1a hash;
    std::size_t bytes = 0;
    std::vector<const value*> open{&v};
    while (!open.empty()) {
        const value& next = *open.back();
        open.pop_back();
        hash.number(next.GetType());
        bytes += of_each;
        if (next.IsString()) {
            hash.field(view(next));
            bytes += next.GetStringLength();
        } else if (next.IsInt64()) {
            hash.number(static_cast<std::uint64_t>(next.GetInt64()));
        } else if (next.IsNumber()) {
            hash.number(std::bit_cast<std::uint64_t>(next.GetDouble()));
        } else if (next.IsArray()) {
            hash.number(next.Size());
            for (const value& item : next.GetArray()) {
                open.push_back(&item);
            }
        } else if (next.IsObject()) {
            hash.number(next.MemberCount());
            for (const auto& member : next.GetObject()) {
                hash.field(view(member.name));
                bytes += member.name.GetStringLength() + of_each;
                open.push_back(&member.value);
            }
        }
    }
    return {hash.value(), bytes};
}

std::string to_text(const value& v) {
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
    v.Accept(writer);
    return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace signalbox::core::json
