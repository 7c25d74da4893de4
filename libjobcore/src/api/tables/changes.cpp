// SPDX-License-Identifier: Apache-2.0
#include "api/tables/changes.hpp"

#include <fmt/format.h>

#include <utility>

namespace signalbox::core::schema {
namespace {

class collector {
public:
    std::vector<change_unit> collect(const field& spec) {
        collect_members(spec, change::inherit);
        for (change_unit& unit : units_) {
            for (const std::vector<const field*>& path : moved_) {
                if (path.back()->moved_to == dotted(unit.path)) {
                    unit.fed_by = path;
                }
            }
        }
        return std::move(units_);
    }

private:
    void collect_members(const field& parent, change inherited) {
        for (const field& row : parent.fields) {
            path_.push_back(&row);
            collect_row(row, row.when == change::inherit ? inherited : row.when);
            path_.pop_back();
        }
    }

    void collect_row(const field& row, change when) {
        if (!row.moved_to.empty()) {
            moved_.push_back(path_);
        }
        const bool compared = row.type != value_type::object || row.presence_counts;
        if (compared && when != change::any_time && when != change::by_own_rule) {
            units_.push_back({path_, {}, when});
        }
        if (row.type == value_type::object) {
            collect_members(row, when);
        }
    }

    std::vector<const field*> path_;
    std::vector<change_unit> units_;
    std::vector<std::vector<const field*>> moved_;  ///< fields of an older API
};

}  // namespace

std::vector<change_unit> change_units(const field& spec) {
    return collector().collect(spec);
}

std::string dotted(const std::vector<const field*>& path) {
    std::string out;
    for (const field* row : path) {
        out += (out.empty() ? "" : ".") + std::string(row->name);
    }
    return out;
}

std::string change_message(const change_unit& unit) {
    return fmt::format(
        "`{}` {}",
        dotted(unit.path),
        unit.when == change::never ? "cannot be changed"
                                   : "can be changed only while the job is paused"
    );
}

}  // namespace signalbox::core::schema
