// SPDX-License-Identifier: Apache-2.0
//
// Gang scheduling: what the pods of a job need of a scheduler that places all of them or none
// (BEHAVIOUR.md 8). Nothing here knows a scheduler.
#pragma once

#include "gang/scheduler.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace signalbox::core::gang {

/// Members and minimum. Needs the plan's types and stages to be complete.
gang_plan plan_members(const job_plan& plan, const job_spec& spec);

/// Adds what the job's scheduler wants: `plan.gang` and its object, before all others
/// (BEHAVIOUR.md 2.1). Does nothing if the job names no scheduler. Needs the plan's types and
/// stages. Gives what the scheduler cannot take of the job.
std::vector<objection> add_to(job_plan& plan, const job_spec& spec);

/// Schedulers without quota that take the job, which names none; empty if a template names one.
/// Needs the plan's types and stages. Names have static storage.
std::vector<std::string_view> possible_schedulers(const job_plan& plan, const job_spec& spec);

/// The gang with so many replicas of each type in force, of which so many have ended; empty: the
/// plan's own, and none. Never more members than the first stage creates (BEHAVIOUR.md 8.2).
gang_state state_of(const job_plan& plan, const render_options& options);

/// The same state for the object: values of its fields.
std::vector<field_value> object_values(const job_plan& plan, const render_options& options);

/// What the object has in fields that are not compared is what is wanted (scheduler::is_current).
bool is_current(const job_plan& plan, const render_options& options, const child_record& object);

/// The marks of a type's pods; nothing without a gang.
std::optional<pod_marks> marks_of(const job_plan& plan, std::size_t type);

}  // namespace signalbox::core::gang
