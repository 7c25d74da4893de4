// SPDX-License-Identifier: Apache-2.0
#include "gang/content.hpp"

#include "strings/content_hash.hpp"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>

namespace signalbox::core::gang {
namespace {

using text_writer = rapidjson::Writer<rapidjson::StringBuffer>;

std::vector<std::string_view> steps_of(std::string_view name) {
    std::vector<std::string_view> out;
    for (std::size_t from = 0; from <= name.size();) {
        const std::size_t dot = std::min(name.find('.', from), name.size());
        out.push_back(name.substr(from, dot - from));
        from = dot + 1;
    }
    return out;
}

void write_key(text_writer& w, std::string_view key) {
    w.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
}

void write_value(text_writer& w, const field_value& value) {
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
        w.Int64(*number);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
        w.String(text->data(), static_cast<rapidjson::SizeType>(text->size()));
    } else if (const auto* json = std::get_if<json_text>(&value)) {
        w.RawValue(json->text.data(), json->text.size(), rapidjson::kObjectType);
    }
}

bool says_nothing(const json::value& v) {
    return v.IsNull() || v.IsFalse() || (v.IsNumber() && v.GetDouble() == 0.0) ||
           (v.IsString() && v.GetStringLength() == 0);
}

/// Nothing of ours is deeper: what lies below is not looked at.
constexpr int most_levels = 16;

void add(content_hash& hash, const json::value& v, int level);

/// In the order of their names: a server writes them in an order of its own.
void add_members(content_hash& hash, const json::value& object, int level) {
    std::vector<const json::value::Member*> members;
    for (auto it = object.MemberBegin(); it != object.MemberEnd(); ++it) {
        if (!it->value.IsNull()) {
            members.push_back(&*it);
        }
    }
    std::ranges::sort(members, {}, [](const auto* m) { return json::view(m->name); });
    hash.field("{").number(members.size());
    for (const auto* m : members) {
        hash.field(json::view(m->name));
        add(hash, m->value, level);
    }
}

void add(content_hash& hash, const json::value& v, int level) {
    if (level == most_levels) {
        hash.field("deep");
    } else if (v.IsObject()) {
        add_members(hash, v, level + 1);
    } else if (v.IsArray()) {
        hash.field("[").number(v.Size());
        for (const json::value& item : v.GetArray()) {
            add(hash, item, level + 1);
        }
    } else if (v.IsString()) {
        hash.field("text").field(json::view(v));
    } else {
        hash.field("value").field(json::to_text(v));
    }
}

std::uint64_t hash_of(const json::value* v) {
    if (v == nullptr || says_nothing(*v)) {
        return 0;
    }
    content_hash hash;
    add(hash, *v, 0);
    return hash.value();
}

const json::value* find(const json::value& object, std::string_view name) {
    const json::value* at = json::find(object, "spec");
    for (const std::string_view step : steps_of(name)) {
        at = at == nullptr ? nullptr : json::find(*at, step);
    }
    return at;
}

}  // namespace

std::string spec_text(object_kind kind, std::span<const field_value> values) {
    rapidjson::StringBuffer buffer;
    text_writer w(buffer);
    std::vector<std::string_view> open;  // the objects that stand open below `spec`
    w.StartObject();
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (std::holds_alternative<std::monostate>(values[i])) {
            continue;
        }
        const auto steps = steps_of(kind->fields[i]);
        const std::span<const std::string_view> parents(steps.data(), steps.size() - 1);
        const auto same = std::ranges::mismatch(open, parents).in1 - open.begin();
        for (; open.size() > static_cast<std::size_t>(same); open.pop_back()) {
            w.EndObject();
        }
        for (const std::string_view parent : parents.subspan(open.size())) {
            write_key(w, parent);
            w.StartObject();
            open.push_back(parent);
        }
        write_key(w, steps.back());
        write_value(w, values[i]);
    }
    for (; !open.empty(); open.pop_back()) {
        w.EndObject();
    }
    w.EndObject();
    return {buffer.GetString(), buffer.GetSize()};
}

std::uint64_t hash_of(const field_value& value) {
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
        const json::value v(*number);
        return hash_of(&v);
    }
    if (const auto* text = std::get_if<std::string>(&value)) {
        const json::value v(json::ref(*text));
        return hash_of(&v);
    }
    if (const auto* json = std::get_if<json_text>(&value)) {
        json::document document;
        json::parse(document, json->text);
        return hash_of(&document);
    }
    return 0;
}

std::vector<std::uint64_t> field_hashes(object_kind kind, const json::value& object) {
    std::vector<std::uint64_t> out;
    out.reserve(kind->fields.size());
    for (const std::string_view name : kind->fields) {
        out.push_back(hash_of(find(object, name)));
    }
    return out;
}

}  // namespace signalbox::core::gang
