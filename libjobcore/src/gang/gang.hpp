// SPDX-License-Identifier: Apache-2.0
//
// Gang scheduling: what the pods of a job need of a scheduler that places all of them or none
// (BEHAVIOUR.md 8). Nothing here knows a scheduler.
#pragma once

#include "gang/scheduler.hpp"

#include <optional>
#include <span>
#include <string_view>

namespace signalbox::core::gang {

/// Members and minimum. Needs the plan's types and stages to be complete.
gang_plan plan_members(const job_plan& plan, const job_spec& spec);

/// Adds what the job's scheduler wants: `plan.gang` and its object, before all others
/// (BEHAVIOUR.md 2.1). Does nothing if the job names no scheduler. Needs the plan's types and
/// stages.
void add_to(job_plan& plan, const job_spec& spec);

/// Values of the fields of the gang's object with so many replicas of each type in force; empty:
/// the plan's own. Never more members than the first stage creates (BEHAVIOUR.md 8.2).
std::vector<field_value> object_values(const job_plan& plan, std::span<const std::int32_t> wanted);

/// The marks of a type's pods; nothing without a gang.
std::optional<pod_marks> marks_of(const job_plan& plan, std::size_t type);

}  // namespace signalbox::core::gang
