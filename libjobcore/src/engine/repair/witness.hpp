// SPDX-License-Identifier: Apache-2.0
//
// Parts of a status that say the same: what one of them says alone against the others was damaged
// (BEHAVIOUR.md api 5.7).
#pragma once

#include "jobcore/plan.hpp"
#include "jobcore/status.hpp"

#include <optional>
#include <vector>

namespace signalbox::core::engine {

/// Final or not as most of phase, condition Completed and completionTime say; else the phase as it
/// is. A phase that is lost is the one that the conditions tell.
job_phase phase_by_witnesses(const job_status& s);

/// Paused or not as most of phase, condition Paused and startTime say; else the phase as it is.
job_phase phase_of_pause(const job_status& s);

/// Neither the sum of `aggregate` nor `ready` agrees with the sizes.
bool contradicts_sizes(const job_status& s);

/// One entry for each role, with the plan's size.
std::vector<task_status> sizes_of_plan(const job_status& s, const job_plan& plan);
/// The sizes by the replicas that are listed; nothing if that is not all of them.
std::optional<std::vector<task_status>> sizes_by_list(const job_status& s);
bool same_sizes(const std::vector<task_status>& a, const std::vector<task_status>& b);

}  // namespace signalbox::core::engine
