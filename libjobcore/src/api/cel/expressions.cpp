// SPDX-License-Identifier: Apache-2.0
//
// A field of ours may be null, absent or written with an alias. `has` is false for null too, so an
// effective value is one expression:
// `(has(self.a) && has(self.a.b) ? self.a.b : has(self.a) && has(self.a.alias) ? self.a.alias :
// 1)`. Optional access (`self.?a.?b.orValue(1)`) would be shorter, but hides the size of texts and
// lists from the server's cost estimate, which then refuses the CRD.
#include "api/cel/expressions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace signalbox::core::schema {
namespace {

using field_path = std::span<const field* const>;

/// `base.a.b` with `name` in place of the last field's own.
std::string access(std::string_view base, field_path path, std::string_view name) {
    std::string out(base);
    for (const field* parent : path.first(path.size() - 1)) {
        out += fmt::format(".{}", parent->name);
    }
    return fmt::format("{}.{}", out, name);
}

/// `has(base.a) && has(base.a.b)`
std::string is_there(std::string_view base, field_path path, std::string_view name) {
    std::string out;
    std::string object(base);
    for (const field* parent : path.first(path.size() - 1)) {
        object += fmt::format(".{}", parent->name);
        out += fmt::format("has({}) && ", object);
    }
    return fmt::format("{}has({}.{})", out, object, name);
}

/// What stands for the absent field: its default, or a value that it cannot have.
std::string absent_value(const field& row) {
    switch (row.type) {
        case value_type::object_list:
        case value_type::string_list:
        case value_type::integer_list:
        case value_type::opaque_list:
            return "[]";
        case value_type::integer:
            return row.fallback.empty() ? "-1" : std::string(row.fallback);
        default:
            break;
    }
    // JSON texts are CEL but for the quotes.
    std::string text = row.fallback.empty() ? "\"\"" : std::string(row.fallback);
    std::replace(text.begin(), text.end(), '"', '\'');
    return row.type == value_type::int_or_string ? fmt::format("dyn({})", text) : text;
}

/// `<there> ? <value> : ` for each name of the field.
std::string choices(std::string_view base, field_path path) {
    const field& row = *path.back();
    std::vector<std::string_view> names{row.name};
    names.insert(names.end(), row.aliases.begin(), row.aliases.end());
    std::string out;
    for (const std::string_view name : names) {
        const std::string value = access(base, path, name);
        // A text with a default and no fixed values: empty means the default, as absent does.
        const bool empty_is_absent =
            row.type == value_type::string && row.values.empty() && !row.fallback.empty();
        out += empty_is_absent ? fmt::format(
                                     "{} ? ({} == '' ? {} : {}) : ",
                                     is_there(base, path, name),
                                     value,
                                     absent_value(row),
                                     value
                                 )
                               : fmt::format("{} ? {} : ", is_there(base, path, name), value);
    }
    return out;
}

/// Whether the field and all around it are required.
bool always_there(field_path path) {
    return std::all_of(path.begin(), path.end(), [](const field* row) { return row->required; });
}

/// An expression that is equal for equal effective values.
std::string effective(std::string_view base, field_path path, field_path fed_by = {}) {
    const field& row = *path.back();
    if (row.type == value_type::object) {
        return fmt::format("({})", is_there(base, path, row.name));
    }
    if (always_there(path)) {
        return access(base, path, row.name);
    }
    const std::string value = fmt::format(
        "({}{}{})",
        choices(base, path),
        fed_by.empty() ? "" : choices(base, fed_by),
        absent_value(row)
    );
    return row.type == value_type::int_or_string ? fmt::format("string{}", value) : value;
}

bool is_opaque(const field& row) {
    return row.type == value_type::opaque_object || row.type == value_type::opaque_list;
}

/// Both absent, or both there and equal: nothing can stand for an absent object.
std::string same_opaque(field_path path) {
    const std::string_view name = path.back()->name;
    const std::string now = is_there("self", path, name);
    return fmt::format(
        "({}) == ({}) && (!({}) || {} == {})",
        now,
        is_there("oldSelf", path, name),
        now,
        access("self", path, name),
        access("oldSelf", path, name)
    );
}

/// Adds the paths to all fields below `rows` that are no objects.
void collect_leaves(
    std::span<const field> rows,
    const std::vector<const field*>& parents,
    std::vector<std::vector<const field*>>& leaves
) {
    for (const field& row : rows) {
        std::vector<const field*> path = parents;
        path.push_back(&row);
        if (row.type == value_type::object) {
            collect_leaves(row.fields, path, leaves);
        } else {
            leaves.push_back(std::move(path));
        }
    }
}

/// A list of objects is equal if each member field is, item by item.
std::string same_list(field_path path) {
    std::vector<std::vector<const field*>> leaves;
    collect_leaves(path.back()->fields, {}, leaves);
    std::string out;
    for (const auto& leaf : leaves) {
        const std::string value = effective("r", leaf);
        out += fmt::format(
            "{}{}.map(r, {}) == {}.map(r, {})",
            out.empty() ? "" : " && ",
            effective("self", path),
            value,
            effective("oldSelf", path),
            value
        );
    }
    return out;
}

/// As far as there are such fields.
std::vector<const field*> path_to(
    const field& spec, std::initializer_list<std::string_view> names
) {
    std::vector<const field*> path;
    std::span<const field> rows = spec.fields;
    for (const std::string_view name : names) {
        const auto row = std::ranges::find(rows, name, &field::name);
        if (row == rows.end()) {
            return path;
        }
        path.push_back(&*row);
        rows = row->fields;
    }
    return path;
}

}  // namespace

std::string unchanged(const change_unit& unit) {
    const field& row = *unit.path.back();
    if (row.type == value_type::object_list) {
        return same_list(unit.path);
    }
    if (is_opaque(row) && !always_there(unit.path)) {
        return same_opaque(unit.path);
    }
    const std::string now = effective("self", unit.path, unit.fed_by);
    const std::string then = effective("oldSelf", unit.path, unit.fed_by);
    // The server cannot estimate the length of a text made by a conversion, but that of a list.
    return row.type == value_type::int_or_string ? fmt::format("[{}] == [{}]", now, then)
                                                 : fmt::format("{} == {}", now, then);
}

std::string value_of(
    const field& spec, std::string_view base, std::initializer_list<std::string_view> names
) {
    return effective(base, path_to(spec, names));
}

bool has_field(const field& spec, std::initializer_list<std::string_view> names) {
    return path_to(spec, names).size() == names.size();
}

std::string value_of(const change_unit& unit, std::string_view base) {
    return effective(base, unit.path, unit.fed_by);
}

}  // namespace signalbox::core::schema
