// SPDX-License-Identifier: Apache-2.0
//
// What is compared to tell whether an edit changed a field (BEHAVIOUR.md api 7.4): effective
// values, so that respelling an alias or writing a default out is no change.
#pragma once

#include "api/tables/changes.hpp"
#include "api/walk/walk.hpp"
#include "jobcore/schema.hpp"

#include <string>

namespace signalbox::core::schema {

/// The node that decides the field's value: of an older API, if only that is written.
const node& deciding(const node& spec, const change_unit& unit);

/// A text that is the same for two specifications of one kind exactly if the field has the same
/// effective value in both.
std::string effective_text(const node& spec, const change_unit& unit);

/// Of a walked specification, in the order of `change_units`.
edit_marks edit_marks_of(const node& spec);

}  // namespace signalbox::core::schema
