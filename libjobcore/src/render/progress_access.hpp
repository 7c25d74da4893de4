// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jobcore/plan.hpp"

#include <string>

namespace signalbox::core {

/// The pod, JSON of this plan, with what its training container takes to report progress:
/// variables, a token, the certificate (BEHAVIOUR.md 13.10). As it is where the user has one of the
/// variables, or something of his own in our places.
std::string with_progress_access(
    std::string pod, const job_plan& plan, const render_options& options
);

}  // namespace signalbox::core
