// SPDX-License-Identifier: Apache-2.0
//
// Parts of a status that say the same: what one of them says alone against the others was damaged
// (BEHAVIOUR.md api 5.7).
#pragma once

#include "jobcore/status.hpp"

namespace signalbox::core::engine {

/// Final or not as most of phase, condition Completed and completionTime say; else the phase as it
/// is. A phase that is lost is the one that the conditions tell.
job_phase phase_by_witnesses(const job_status& s);

/// Paused or not as most of phase, condition Paused and startTime say; else the phase as it is.
job_phase phase_of_pause(const job_status& s);

}  // namespace signalbox::core::engine
