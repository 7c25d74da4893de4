// SPDX-License-Identifier: Apache-2.0
//
// Whether the pods of an attempt can report progress (BEHAVIOUR.md 13.10).
#pragma once

#include "engine/facts/inputs.hpp"

namespace signalbox::core::engine {

/// The pods of the attempt can report, or would be made so if it has none yet. All pods of an
/// attempt do as its first ones: the specification, or the program, may have changed since. Linear
/// in the pods, for a job that asks for progress, or where all jobs report.
bool attempt_reports(const inputs& in, const job_status& status);

}  // namespace signalbox::core::engine
