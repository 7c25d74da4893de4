// SPDX-License-Identifier: Apache-2.0
//
// Walks a JSON value along the tables: types, ranges, enumerations, forms, aliases, unknown fields.
// The result is a tree that has a node for every field of the tables, there or not, so that rules
// and binding read it without asking whether a parent exists.
#pragma once

#include "api/tables/schema_types.hpp"
#include "api/walk/findings.hpp"
#include "json/json.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core::schema {

/// One field of an object, or one item of a list of objects. Refers to the walked JSON value, which
/// must outlive it.
class node {
public:
    enum class state {
        absent,   ///< not written, or null
        present,  ///< written and well-formed (members may still be broken)
        broken,   ///< written wrongly, or missing though required; there is an error for it
    };

    const field* row = nullptr;
    const json::value* value = nullptr;  ///< set only if present
    state is = state::absent;
    std::string pointer;  ///< as written: with the alias, if the user wrote that
    std::size_t order = 0;
    std::vector<node> members;  ///< of an object: one per `row->fields`, in that order
    std::vector<node> items;    ///< of a list of objects
    /// The deciding JSON key, if it differs from `row->name`.
    std::string_view written_as;

    bool present() const { return is == state::present; }
    bool broken() const { return is == state::broken; }

    /// The member of that canonical name, which must be in the table.
    const node& operator[](std::string_view name) const;
    /// The same, or nothing if there is no such row.
    const node* find(std::string_view name) const;

    /// Effective values: as written, else the table's default. Broken counts as not written.
    bool flag() const;
    std::optional<std::int64_t> integer() const;
    std::int32_t int32() const;  ///< for fields with a default
    std::string text() const;
    std::vector<std::string> texts() const;
    std::vector<std::int64_t> integers() const;
    /// Index in `row->values` of the effective value; nothing without value and default.
    std::optional<std::size_t> choice() const;
};

/// The integer of a JSON number; a fraction of zero is accepted, as the API server does.
std::optional<std::int64_t> integral(const json::value& v);

/// Walks `value`, the field `row` at `pointer`. Findings go to `findings`; `next_order` counts
/// places.
node walk(
    const field& row,
    const json::value& value,
    std::string pointer,
    std::size_t& next_order,
    findings_collector& findings
);

}  // namespace signalbox::core::schema
