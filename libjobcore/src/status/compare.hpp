// SPDX-License-Identifier: Apache-2.0
//
// Copies and comparisons of a status that leave out what is large or made anew each time. Most
// decisions change nothing, and should cost next to nothing.
#pragma once

#include "jobcore/status.hpp"

namespace signalbox::core {

/// A copy without what is only shown and made anew by each decision: conditions, the replicas of
/// tasks, the next transition. Nor has it the attempts that have ended, of which few decisions add
/// one.
job_status recorded_part(const job_status& s);

/// All members but `tasks` and `attempt_history` are equal.
bool equal_but_lists(const job_status& a, const job_status& b);

}  // namespace signalbox::core
