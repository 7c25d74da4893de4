// SPDX-License-Identifier: Apache-2.0
//
// A row of the tables in words: what the reference and the documentation of single fields say.
#pragma once

#include "api/tables/schema_types.hpp"

#include <string>
#include <string_view>

namespace signalbox::core::schema {

/// `int32`, `list of strings` ...
std::string type_words(const field& row);
/// `a`, `b` (old spelling: `c`)
std::string value_words(const field& row);
/// What a value must be: form, range, size; without `required`, values and old names.
std::string bound_words(const field& row);
/// All that a value must be, old names included.
std::string rule_words(const field& row);
/// When the field may change. `when` is the row's own, or its parent's where it inherits.
std::string_view change_words(change when);
/// The default in backquotes; empty if there is none.
std::string default_words(const field& row);

}  // namespace signalbox::core::schema
