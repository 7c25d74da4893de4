// SPDX-License-Identifier: Apache-2.0
//
// What may be changed in a job that is not paused (BEHAVIOUR.md api 7), seen from the typed
// specification: the API server refuses other edits, and one that got past it is told
// (BEHAVIOUR.md 10.2).
#pragma once

#include "jobcore/spec.hpp"

namespace signalbox::core::engine {

/// `after` differs from `before` in something that may not be changed at any time.
bool is_forbidden_edit(const job_spec& before, const job_spec& after);

}  // namespace signalbox::core::engine
