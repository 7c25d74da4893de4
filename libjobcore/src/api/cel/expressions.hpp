// SPDX-License-Identifier: Apache-2.0
//
// Effective values of fields as CEL expressions.
#pragma once

#include "api/tables/changes.hpp"

#include <initializer_list>
#include <string>
#include <string_view>

namespace signalbox::core::schema {

/// The effective value of the field at a path of canonical names below `spec`. An absent field
/// without default is -1, empty, or false.
std::string value_of(
    const field& spec, std::string_view base, std::initializer_list<std::string_view> names
);
/// Whether there is a field at that path.
bool has_field(const field& spec, std::initializer_list<std::string_view> names);
/// The same with the field of an older API that feeds it.
std::string value_of(const change_unit& unit, std::string_view base);

/// That the field has the same effective value in `self` and `oldSelf`.
std::string unchanged(const change_unit& unit);

}  // namespace signalbox::core::schema
