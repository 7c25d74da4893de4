// SPDX-License-Identifier: Apache-2.0
//
// Which fields of a specification may change when (BEHAVIOUR.md api 7), flattened from the tables.
// The rules in the CRD and validate_update are made from this one list.
#pragma once

#include "api/tables/schema_types.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core::schema {

/// One field whose effective value is compared: no object, but a leaf or a list.
struct change_unit {
    std::vector<const field*> path;  ///< from below `spec` to the field
    /// The field of an older API that feeds this one; empty: none.
    std::vector<const field*> fed_by;
    change when = change::inherit;  ///< inherit: only while paused
};

/// All fields that may not change at any time, in order of the table.
std::vector<change_unit> change_units(const field& spec);

/// `elastic.minReplicas`
std::string dotted(const std::vector<const field*>& path);

/// What is wrong with a change of the field: never, or not while the job runs.
std::string change_message(const change_unit& unit);

}  // namespace signalbox::core::schema
