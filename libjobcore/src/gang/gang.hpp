// SPDX-License-Identifier: Apache-2.0
//
// Gang scheduling: what the pods of a job need of a scheduler that places all of them or none
// (BEHAVIOUR.md 8). The planner knows no scheduler; what one scheduler wants of pods and objects is
// a renderer of its own.
#pragma once

#include "jobcore/plan.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::core::gang {

/// Members and minimum. Needs the plan's roles and stages to be complete.
gang_plan plan_members(const job_plan& plan, const job_spec& spec);

/// What a scheduler wants of every pod, launchers of later stages included.
struct pod_marks {
    std::string_view scheduler_name;
    std::vector<std::pair<std::string_view, std::string>> labels;
};

/// Adds what the job's scheduler wants: `plan.gang` and its object, before all others
/// (BEHAVIOUR.md 2.1). Does nothing if the job names no scheduler. Needs the plan's roles and
/// stages.
void add_to(job_plan& plan, const job_spec& spec);

/// The marks of a role's pods; nothing without a gang.
std::optional<pod_marks> marks_of(const job_plan& plan, std::size_t role);

}  // namespace signalbox::core::gang
