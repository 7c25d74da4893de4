// SPDX-License-Identifier: Apache-2.0
//
// A status that somebody changed by hand: what cannot be is put right (BEHAVIOUR.md api 5.7).
#pragma once

#include "engine/facts/inputs.hpp"

#include <optional>
#include <string_view>
#include <vector>

namespace signalbox::core::engine {

struct repair {
    job_status status;
    std::vector<std::string_view> fields;  ///< what was put right, as in JSON
};

/// Nothing if every field that decisions read can be as it is. `in.plan` may be one made from the
/// record (`in.invalid`). The repaired status needs no repair.
std::optional<repair> find_repair(const inputs& in);

/// The plan was made by what was wrong: no decision can be made by it.
bool changes_plan(const repair& r);

/// `The status was changed by somebody else; put right: attempt, startTime`.
event tell_of_repair(const repair& r);

}  // namespace signalbox::core::engine
