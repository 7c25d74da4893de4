// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/facts/inputs.hpp"

namespace signalbox::core::engine {

/// The decision about a job that has a plan; under an invalid specification one that was made from
/// what is on record.
decision decide_plan(const inputs& in);

/// The decision about a job whose specification has errors (BEHAVIOUR.md 4.2).
decision decide_invalid(
    const job_object& job, const observed& seen, const policy& policy, instant now
);

}  // namespace signalbox::core::engine
