// SPDX-License-Identifier: Apache-2.0
//
// Copies and comparisons of a status that leave out what is large: the replicas of its tasks. Most
// decisions change nothing, and should cost next to nothing.
#pragma once

#include "jobcore/status.hpp"

namespace signalbox::core {

/// A copy whose tasks list no replicas.
job_status without_replicas(const job_status& s);

/// All members but `tasks` are equal.
bool equal_but_tasks(const job_status& a, const job_status& b);

}  // namespace signalbox::core
