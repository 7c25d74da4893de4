// SPDX-License-Identifier: Apache-2.0
//
// Rules in CEL for the CRD: those over several fields, and what may change.
#pragma once

#include "api/schema_types.hpp"
#include "jobcore/spec.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core::schema {

struct cel_rule {
    std::string rule;
    std::string message;
    std::string field_path;  ///< below the place of the rule; empty: that place
};

/// Rules at the object itself: its name.
std::vector<cel_rule> object_rules(job_kind kind);
/// Rules at `spec`: over several fields, then transitions (api.md 7).
std::vector<cel_rule> spec_rules(job_kind kind);

}  // namespace signalbox::core::schema
