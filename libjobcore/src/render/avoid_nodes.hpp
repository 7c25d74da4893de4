// SPDX-License-Identifier: Apache-2.0
//
// A pod that keeps away from nodes (BEHAVIOUR.md 13.6).
#pragma once

#include "jobcore/plan.hpp"

#include <string>

namespace signalbox::core {

/// The JSON of a Pod with that in its node affinity, beside what the user has there. Of a text that
/// is no object nothing is changed.
std::string with_avoided_nodes(std::string pod, const node_avoidance& avoid);

}  // namespace signalbox::core
