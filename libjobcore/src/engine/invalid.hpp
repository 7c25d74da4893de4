// SPDX-License-Identifier: Apache-2.0
//
// A job whose specification has errors (BEHAVIOUR.md 4.2).
#pragma once

#include "jobcore/decide.hpp"

namespace signalbox::core::engine {

/// Never started: the job fails. Started: the deciding pod's result, pause and deadline still act.
decision decide_invalid(
    const job_object& job, const observed& seen, const policy& rules, instant now
);

/// All rules, on a given specification and plan. `frozen`: nothing is created, patched or counted.
decision decide_valid(
    const job_object& job,
    const job_spec& spec,
    const job_plan& plan,
    const observed& seen,
    const policy& rules,
    instant now,
    bool frozen
);

}  // namespace signalbox::core::engine
