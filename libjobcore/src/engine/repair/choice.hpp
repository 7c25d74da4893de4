// SPDX-License-Identifier: Apache-2.0
//
// By what the present attempt is scheduled (BEHAVIOUR.md 8.10, 8.15), where somebody changed what
// is on record of it: the specification tells it, what asks for quota, and the pods.
#pragma once

#include "engine/facts/inputs.hpp"

#include <span>
#include <string>

namespace signalbox::core::engine {

// For a job that has begun and has neither ended nor been paused. `pods`: sound ones of the present
// attempt, or, for the scheduler, of one before that was scheduled by the same.

/// What `queue` has to be; as it is where nothing contradicts it.
std::string find_true_queue(
    const inputs& in, const job_status& s, std::span<const pod_record* const> pods
);
/// The same of `scheduler`; `s` has its true queue.
std::string find_true_scheduler(
    const inputs& in, const job_status& s, std::span<const pod_record* const> pods
);
/// The job asks for quota, which may have been given; `s` has its true queue.
bool can_have_admission(const inputs& in, const job_status& s);

}  // namespace signalbox::core::engine
