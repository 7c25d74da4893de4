// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/facts/inputs.hpp"

namespace signalbox::core::engine {

/// The decision about a job that has a plan; under an invalid specification one that was made from
/// what is on record.
decision decide_plan(const inputs& in);

/// What is left of a plan when the specification says little: the recorded sizes, and fields that
/// are valid by themselves (BEHAVIOUR.md 4.2). Without types if no size is on record.
job_plan plan_from_record(const job_object& job);

/// The decision about a job whose specification has errors (BEHAVIOUR.md 4.2); `in.plan` is that
/// from the record.
decision decide_invalid(const inputs& in);

}  // namespace signalbox::core::engine
