// SPDX-License-Identifier: Apache-2.0
//
// Reports of progress into the status (BEHAVIOUR.md 13.7).
#pragma once

#include "engine/facts/inputs.hpp"

namespace signalbox::core::engine {

/// Notes what was reported of the attempt of `status`, if that is news.
void note_progress(const inputs& in, job_status& status);

/// The difference is worth a write at once: the first report of an attempt, the last of all.
bool is_urgent_progress(const job_status& before, const job_status& after);

}  // namespace signalbox::core::engine
