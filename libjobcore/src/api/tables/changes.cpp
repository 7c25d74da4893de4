// SPDX-License-Identifier: Apache-2.0
#include "api/tables/changes.hpp"

namespace signalbox::core::schema {
namespace {

void collect(std::vector<const field*>& path, change inherited, std::vector<change_unit>& units) {
    const field& row = *path.back();
    const change when = row.when == change::inherit ? inherited : row.when;
    const bool compared = row.type != value_type::object || row.presence_counts;
    if (compared && when != change::any_time && when != change::by_own_rule) {
        units.push_back({path, {}, when});
    }
    if (row.type == value_type::object) {
        for (const field& member : row.fields) {
            path.push_back(&member);
            collect(path, when, units);
            path.pop_back();
        }
    }
}

/// The field below `rows` that moved to `target`.
bool find_moved(
    std::span<const field> rows, std::string_view target, std::vector<const field*>& path
) {
    for (const field& row : rows) {
        path.push_back(&row);
        if (row.moved_to == target ||
            (row.type == value_type::object && find_moved(row.fields, target, path))) {
            return true;
        }
        path.pop_back();
    }
    return false;
}

}  // namespace

std::vector<change_unit> change_units(const field& spec) {
    std::vector<change_unit> units;
    for (const field& row : spec.fields) {
        std::vector<const field*> path{&row};
        collect(path, change::inherit, units);
    }
    for (change_unit& unit : units) {
        find_moved(spec.fields, dotted(unit.path), unit.fed_by);
    }
    return units;
}

std::string dotted(const std::vector<const field*>& path) {
    std::string out;
    for (const field* row : path) {
        out += (out.empty() ? "" : ".") + std::string(row->name);
    }
    return out;
}

}  // namespace signalbox::core::schema
