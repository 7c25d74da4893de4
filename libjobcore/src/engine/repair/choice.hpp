// SPDX-License-Identifier: Apache-2.0
//
// By what the present attempt is scheduled (BEHAVIOUR.md 8.10, 8.15), where somebody changed what
// is on record of it: the specification tells it, what asks for quota, and the pods.
#pragma once

#include "engine/facts/inputs.hpp"

#include <cstdint>
#include <string>

namespace signalbox::core::engine {

// For a job that has begun and has neither ended nor been paused.

/// What `queue` has to be; as it is where nothing contradicts it.
std::string find_true_queue(const inputs& in, const job_status& s);
/// The same of `scheduler`; `s` has its true queue. `attempt`: whose pods tell it, the present one
/// or one before that was scheduled by the same.
std::string find_true_scheduler(const inputs& in, const job_status& s, std::int32_t attempt);
/// The job asks for quota, which may have been given; `s` has its true queue.
bool can_have_admission(const inputs& in, const job_status& s);

}  // namespace signalbox::core::engine
