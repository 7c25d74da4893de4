// SPDX-License-Identifier: Apache-2.0
//
// The version in which a server has what a gang is placed by.
#pragma once

#include "jobcore/observed.hpp"
#include "jobcore/plan.hpp"

#include <optional>
#include <span>

namespace signalbox::core::engine {

/// The plan with the scheduler's object in the first version that is served. Nothing: `plan` has it
/// so, has none, or none is served.
std::optional<job_plan> plan_of_version(
    const job_plan& plan, std::span<const served_kind> served_kinds
);

}  // namespace signalbox::core::engine
