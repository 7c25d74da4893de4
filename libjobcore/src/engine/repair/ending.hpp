// SPDX-License-Identifier: Apache-2.0
//
// What a status says of an end, in its other places than the phase (BEHAVIOUR.md 4.1, 4.13).
#pragma once

#include "engine/facts/inputs.hpp"

#include <optional>
#include <string>
#include <vector>

namespace signalbox::core::engine {

/// Conditions that a job which goes on does not have.
bool has_condition_of_end(const job_status& s);
void remove_conditions_of_end(job_status& s);

/// By the condition Completed.
std::optional<instant> time_of_end(const job_status& s);
std::string reason_of_end(const job_status& s);

/// The conditions agree with the final phase.
bool tells_of_end(const job_status& s);
/// The conditions of a status with a final phase, so that they do.
std::vector<condition> conditions_of_end(const inputs& in, const job_status& s);

}  // namespace signalbox::core::engine
