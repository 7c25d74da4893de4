// SPDX-License-Identifier: Apache-2.0
//
// What an update may change (BEHAVIOUR.md api 7): effective values are compared, so that respelling
// an alias or writing a default out is no change.
#include "api/job/kinds.hpp"
#include "api/job/object.hpp"
#include "api/tables/changes.hpp"
#include "jobcore/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace signalbox::core {
namespace {

using namespace schema;

bool equal_json(const json::value& a, const json::value& b);

/// Members in order of name; of several of one name the last.
std::map<std::string_view, const json::value*> sorted_members(const json::value& object) {
    std::map<std::string_view, const json::value*> members;
    for (const auto& member : object.GetObject()) {
        members.insert_or_assign(json::view(member.name), &member.value);
    }
    return members;
}

/// Whether both have the same names in the same order, as nearly always.
bool same_names(const json::value& a, const json::value& b) {
    return std::equal(
        a.MemberBegin(),
        a.MemberEnd(),
        b.MemberBegin(),
        b.MemberEnd(),
        [](const auto& x, const auto& y) { return json::view(x.name) == json::view(y.name); }
    );
}

/// Not RapidJSON's operator==, which takes quadratic time on objects.
bool equal_objects(const json::value& a, const json::value& b) {
    if (same_names(a, b)) {
        return std::equal(
            a.MemberBegin(),
            a.MemberEnd(),
            b.MemberBegin(),
            [](const auto& x, const auto& y) { return equal_json(x.value, y.value); }
        );
    }
    const auto left = sorted_members(a);
    const auto right = sorted_members(b);
    return std::equal(
        left.begin(),
        left.end(),
        right.begin(),
        right.end(),
        [](const auto& x, const auto& y) {
            return x.first == y.first && equal_json(*x.second, *y.second);
        }
    );
}

bool equal_json(const json::value& a, const json::value& b) {
    if (a.IsObject() && b.IsObject()) {
        return equal_objects(a, b);
    }
    if (a.IsArray() && b.IsArray()) {
        return a.Size() == b.Size() && std::equal(a.Begin(), a.End(), b.Begin(), equal_json);
    }
    return a.GetType() == b.GetType() && a == b;
}

bool equal(const node& a, const node& b);

bool equal_members(const node& a, const node& b) {
    return std::equal(
        a.members.begin(), a.members.end(), b.members.begin(), b.members.end(), equal
    );
}

/// Whether the effective values are equal. Both are nodes of the same row.
bool equal(const node& a, const node& b) {
    switch (a.row->type) {
        case value_type::object:
            return (!a.row->presence_counts || a.present() == b.present()) && equal_members(a, b);
        case value_type::object_list:
            return std::equal(
                a.items.begin(), a.items.end(), b.items.begin(), b.items.end(), equal_members
            );
        case value_type::string_list:
            return a.texts() == b.texts();
        case value_type::boolean:
            return a.flag() == b.flag();
        case value_type::integer:
            return a.integer() == b.integer();
        case value_type::string:
            return a.row->values.empty() ? a.text() == b.text() : a.choice() == b.choice();
        case value_type::int_or_string:
        case value_type::time:
            return a.text() == b.text();
        case value_type::opaque_object:
        case value_type::opaque_list:
            break;
    }
    return a.present() == b.present() && (!a.present() || equal_json(*a.value, *b.value));
}

const node& at(const node& spec, const std::vector<const field*>& path) {
    const node* n = &spec;
    for (const field* row : path) {
        n = &(*n)[row->name];
    }
    return *n;
}

/// The node that decides the field's value: of an older API, if only that is written.
const node& deciding(const node& spec, const change_unit& unit) {
    const node& own = at(spec, unit.path);
    if (own.present() || unit.fed_by.empty() || !at(spec, unit.fed_by).present()) {
        return own;
    }
    return at(spec, unit.fed_by);
}

bool changed(const node& before, const node& after, const change_unit& unit) {
    const node& a = deciding(before, unit);
    const node& b = deciding(after, unit);
    if (a.row == b.row) {
        return unit.path.back()->presence_counts ? a.present() != b.present() : !equal(a, b);
    }
    return a.integer() != b.integer();  // fields that moved are integers
}

}  // namespace

std::vector<diagnostic> validate_update(std::string_view before, std::string_view after) {
    findings_collector ignored;
    findings_collector findings;
    const job_document old_object(before, ignored);
    const job_document new_object(after, ignored);
    const auto kind = old_object.kind();
    if (!kind || new_object.kind() != kind) {
        return {};
    }
    const node& old_spec = old_object["spec"];
    const node& new_spec = new_object["spec"];
    const bool paused = old_spec["runMode"]["pause"]["enabled"].flag();
    for (const change_unit& unit : change_units(*schema_of(*kind).spec)) {
        const bool allowed = unit.when != change::never && paused;
        if (allowed || !changed(old_spec, new_spec, unit)) {
            continue;
        }
        const node& place = deciding(new_spec, unit);
        findings.error(
            place.order,
            place.pointer,
            unit.when == change::never
                ? fmt::format("`{}` cannot be changed", dotted(unit.path))
                : fmt::format("`{}` can be changed only while the job is paused", dotted(unit.path))
        );
    }
    return findings.take();
}

}  // namespace signalbox::core
