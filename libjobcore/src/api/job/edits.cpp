// SPDX-License-Identifier: Apache-2.0
#include "api/job/edits.hpp"

#include "strings/fnv1a.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace signalbox::core {
namespace schema {
namespace {

/// Writes values so that no two different ones have the same text: each part says how long it is.
class text_writer {
public:
    void value(const node& n);
    void presence(const node& n) { out_ += n.present() ? '+' : '-'; }
    std::string take() { return std::move(out_); }

private:
    void count(std::size_t n) { fmt::format_to(std::back_inserter(out_), "{}:", n); }
    void text(std::string_view text) {
        count(text.size());
        out_ += text;
    }
    template <class Number>
    void number(Number n) {
        fmt::format_to(std::back_inserter(out_), "{};", n);
    }
    template <class Number>
    void optional_number(std::optional<Number> n) {
        n ? number(*n) : out_.push_back(';');
    }
    void members(const node& n) {
        for (const node& member : n.members) {
            value(member);
        }
    }
    void json(const json::value& v);
    void json_object(const json::value& v);

    std::string out_;
};

void text_writer::value(const node& n) {
    switch (n.row->type) {
        case value_type::object:
            if (n.row->presence_counts) {
                presence(n);
            }
            return members(n);
        case value_type::object_list:
            count(n.items.size());
            for (const node& item : n.items) {
                members(item);
            }
            return;
        case value_type::string_list: {
            const std::vector<std::string> items = n.texts();
            count(items.size());
            for (const std::string& item : items) {
                text(item);
            }
            return;
        }
        case value_type::integer_list: {
            const std::vector<std::int64_t> items = n.integers();
            count(items.size());
            for (const std::int64_t item : items) {
                optional_number(std::optional(item));
            }
            return;
        }
        case value_type::boolean:
            out_ += n.flag() ? 't' : 'f';
            return;
        case value_type::integer:
            return optional_number(n.integer());
        case value_type::string:
            return n.row->values.empty() ? text(n.text()) : optional_number(n.choice());
        case value_type::int_or_string:
        case value_type::time:
            return text(n.text());
        case value_type::opaque_object:
        case value_type::opaque_list:
            break;
    }
    presence(n);
    if (n.present()) {
        json(*n.value);
    }
}

void text_writer::json(const json::value& v) {
    switch (v.GetType()) {
        case rapidjson::kNullType:
            out_ += '0';
            return;
        case rapidjson::kFalseType:
        case rapidjson::kTrueType:
            out_ += v.GetBool() ? 't' : 'f';
            return;
        case rapidjson::kStringType:
            out_ += 's';
            return text(json::view(v));
        case rapidjson::kNumberType:
            out_ += 'n';
            if (const auto whole = integral(v)) {
                return number(*whole);
            }
            return v.IsUint64() ? number(v.GetUint64()) : number(v.GetDouble());
        case rapidjson::kArrayType:
            out_ += 'a';
            count(v.Size());
            for (const json::value& item : v.GetArray()) {
                json(item);
            }
            return;
        case rapidjson::kObjectType:
            out_ += 'o';
            json_object(v);
    }
}

/// Members in order of name; of several of one name the last.
void text_writer::json_object(const json::value& v) {
    std::vector<const rapidjson::Value::Member*> members;
    members.reserve(v.MemberCount());
    for (const auto& member : v.GetObject()) {
        members.push_back(&member);
    }
    const auto name = [](const auto* member) { return json::view(member->name); };
    std::ranges::stable_sort(members, {}, name);
    for (auto it = members.begin(); it != members.end(); ++it) {
        if (std::next(it) != members.end() && name(*std::next(it)) == name(*it)) {
            continue;
        }
        text(name(*it));
        json((*it)->value);
    }
    out_ += ';';
}

const node& at(const node& spec, const std::vector<const field*>& path) {
    const node* n = &spec;
    for (const field* row : path) {
        n = &(*n)[row->name];
    }
    return *n;
}

}  // namespace

const node& deciding(const node& spec, const change_unit& unit) {
    const node& own = at(spec, unit.path);
    if (own.present() || unit.fed_by.empty() || !at(spec, unit.fed_by).present()) {
        return own;
    }
    return at(spec, unit.fed_by);
}

std::string effective_text(const node& spec, const change_unit& unit) {
    text_writer writer;
    if (unit.path.back()->presence_counts) {
        writer.presence(at(spec, unit.path));  // its fields are units of their own
    } else {
        writer.value(deciding(spec, unit));
    }
    return writer.take();
}

edit_marks edit_marks_of(const node& spec) {
    fnv1a never;
    fnv1a while_paused;
    for (const change_unit& unit : change_units(*spec.row)) {
        (unit.when == change::never ? never : while_paused).field(effective_text(spec, unit));
    }
    return {
        .never = never.value(),
        .while_paused = while_paused.value(),
        .paused = spec["runMode"]["pause"]["enabled"].flag()};
}

}  // namespace schema

bool is_forbidden_edit(const edit_marks& before, const edit_marks& after) {
    return before.never != after.never ||
           (!before.paused && before.while_paused != after.while_paused);
}

}  // namespace signalbox::core
