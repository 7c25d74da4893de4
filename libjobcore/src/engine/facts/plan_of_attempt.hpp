// SPDX-License-Identifier: Apache-2.0
//
// What an attempt began with stays with it (BEHAVIOUR.md 10.4): which pod decides, its types, and
// how its pods start.
#pragma once

#include "engine/facts/inputs.hpp"
#include "jobcore/plan.hpp"
#include "jobcore/status.hpp"

#include <optional>

namespace signalbox::core::engine {

/// The plan that the attempt on record goes by, where `plan`, that of the specification, names
/// another deciding pod, lacks one of the attempt's types or has them in another order; else
/// nothing. Types that only the record has come last, with no wanted replica: of them and of all
/// others no pod can be made.
std::optional<job_plan> plan_of_attempt(const job_plan& plan, const job_status& status);

/// The pods of the attempt have files of its own (a ConfigMap), by which they start each other, and
/// the specification has no such files any more: pods of both would not find each other.
bool starts_otherwise(const inputs& in);

}  // namespace signalbox::core::engine
