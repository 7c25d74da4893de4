// SPDX-License-Identifier: Apache-2.0
//
// The size that an elastic job has by its admission (BEHAVIOUR.md 8.14).
#pragma once

#include "jobcore/plan.hpp"
#include "jobcore/status.hpp"

#include <optional>

namespace signalbox::core::engine {

/// The plan with no more pods than were admitted. Nothing: `plan` wants no more, or goes by no
/// admission.
std::optional<job_plan> plan_of_admission(const job_plan& plan, const job_status& status);

}  // namespace signalbox::core::engine
