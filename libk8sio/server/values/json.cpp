// SPDX-License-Identifier: Apache-2.0
#include "server/values/json.hpp"

#include <fmt/format.h>
#include <rapidjson/error/en.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <map>
#include <utility>

namespace signalbox::k8sio::server::json {
namespace {

constexpr unsigned stored_flags =
    rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag;
constexpr unsigned parse_flags = stored_flags | rapidjson::kParseValidateEncodingFlag;

bool too_deep(std::string_view text) {
    std::size_t depth = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string) {
            if (c == '\\') {
                ++i;
            } else if (c == '"') {
                in_string = false;
            }
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            if (++depth > max_depth) {
                return true;
            }
        } else if ((c == '}' || c == ']') && depth > 0) {
            --depth;
        }
    }
    return false;
}

value::StringRefType ref(std::string_view text) {
    return {text.data(), static_cast<rapidjson::SizeType>(text.size())};
}

}  // namespace

std::optional<std::string> parse(value& into, std::string_view text, arena& a) {
    if (too_deep(text)) {
        return fmt::format("nesting is deeper than {} levels", max_depth);
    }
    rapidjson::Document document(&a);
    document.Parse<parse_flags>(text.data(), text.size());
    if (document.HasParseError()) {
        return fmt::format(
            "{} at byte {}",
            rapidjson::GetParseError_En(document.GetParseError()),
            document.GetErrorOffset()
        );
    }
    into.Swap(document);
    return std::nullopt;
}

void parse_stored(value& into, std::string_view text, arena& a) {
    rapidjson::Document document(&a);
    document.Parse<stored_flags>(text.data(), text.size());
    into.Swap(document);
}

const value* member(const value& v, std::string_view key) {
    if (!v.IsObject()) {
        return nullptr;
    }
    const auto it = v.FindMember(value(ref(key)));
    return it == v.MemberEnd() ? nullptr : &it->value;
}

value* member(value& v, std::string_view key) {
    return const_cast<value*>(member(std::as_const(v), key));
}

const value* find(const value& v, std::string_view key) {
    const value* m = member(v, key);
    return m == nullptr || m->IsNull() ? nullptr : m;
}

value* find(value& v, std::string_view key) {
    return const_cast<value*>(find(std::as_const(v), key));
}

const value* find_path(const value& v, std::initializer_list<std::string_view> path) {
    const value* at = &v;
    for (const std::string_view key : path) {
        at = find(*at, key);
        if (at == nullptr) {
            return nullptr;
        }
    }
    return at;
}

value* find_path(value& v, std::initializer_list<std::string_view> path) {
    return const_cast<value*>(find_path(std::as_const(v), path));
}

const value* find_dotted(const value& v, std::string_view path) {
    const value* at = &v;
    while (!path.empty() && at != nullptr) {
        const std::size_t dot = path.find('.');
        at = find(*at, path.substr(0, dot));
        path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
    }
    return at;
}

std::string_view string_at(const value& v, std::initializer_list<std::string_view> path) {
    const value* at = find_path(v, path);
    return at != nullptr && at->IsString() ? view(*at) : std::string_view{};
}

std::optional<std::int64_t> int_at(const value& v, std::initializer_list<std::string_view> path) {
    const value* at = find_path(v, path);
    return at != nullptr && at->IsInt64() ? std::optional(at->GetInt64()) : std::nullopt;
}

bool bool_at(const value& v, std::initializer_list<std::string_view> path) {
    const value* at = find_path(v, path);
    return at != nullptr && at->IsBool() && at->GetBool();
}

void set(value& object, std::string_view key, value v, arena& a) {
    if (value* m = member(object, key)) {
        *m = v;
    } else {
        object.AddMember(make_string(key, a), v, a);
    }
}

void set(value& object, std::string_view key, std::string_view text, arena& a) {
    set(object, key, make_string(text, a), a);
}

void set_default(value& object, std::string_view key, std::string_view text, arena& a) {
    if (find(object, key) == nullptr) {
        set(object, key, text, a);
    }
}

void set_default(value& object, std::string_view key, std::int64_t number, arena& a) {
    if (find(object, key) == nullptr) {
        set(object, key, value(number), a);
    }
}

void remove(value& object, std::string_view key) {
    if (!object.IsObject()) {
        return;
    }
    const auto it = object.FindMember(value(ref(key)));
    if (it != object.MemberEnd()) {
        object.EraseMember(it);
    }
}

value& object_at(value& object, std::string_view key, arena& a) {
    value* m = member(object, key);
    if (m == nullptr) {
        object.AddMember(make_string(key, a), json::object(), a);
        m = member(object, key);
    } else if (!m->IsObject()) {
        m->SetObject();
    }
    return *m;
}

namespace {

/// Of two objects with as many members.
bool equal_objects(const value& x, const value& y) {
    auto other = y.MemberBegin();
    auto it = x.MemberBegin();
    // Mostly they stand in one order.
    for (; it != x.MemberEnd() && it->name == other->name; ++it, ++other) {
        if (!equal(it->value, other->value)) {
            return false;
        }
    }
    std::map<std::string_view, const value*> rest;
    for (; other != y.MemberEnd(); ++other) {
        rest.emplace(view(other->name), &other->value);
    }
    return std::all_of(it, x.MemberEnd(), [&](const value::Member& m) {
        const auto found = rest.find(view(m.name));
        return found != rest.end() && equal(m.value, *found->second);
    });
}

}  // namespace

bool equal(const value& x, const value& y) {
    if (x.IsObject() && y.IsObject()) {
        return x.MemberCount() == y.MemberCount() && equal_objects(x, y);
    }
    if (x.IsArray() && y.IsArray()) {
        return std::equal(x.Begin(), x.End(), y.Begin(), y.End(), equal);
    }
    return x == y;
}

void drop_nulls(value& v) {
    if (v.IsObject()) {
        erase_members(v, [](value::Member& m) {
            drop_nulls(m.value);
            return m.value.IsNull();
        });
    } else if (v.IsArray()) {
        for (value& element : v.GetArray()) {
            drop_nulls(element);
        }
    }
}

std::string to_text(const value& v) {
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
    v.Accept(writer);
    return {buffer.GetString(), buffer.GetSize()};
}

std::string scalar_text(const value& v) {
    return v.IsString() ? text_of(v) : to_text(v);
}

}  // namespace signalbox::k8sio::server::json
