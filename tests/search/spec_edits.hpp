// SPDX-License-Identifier: Apache-2.0
//
// What a user may make of a job's specification. The first of each list is the job as created.
#pragma once

#include "configurations.hpp"

#include <vector>

namespace signalbox::search {

/// Replica types are taken away, added, emptied, put in another order, made more.
std::vector<spec_edit> edits_of_types();
/// Policies of restarts, and a size.
std::vector<spec_edit> edits_of_policies();
/// What decides under torchrun whether an exit settles, and whether a replica is given up.
std::vector<spec_edit> edits_of_restarts();
/// Types of an elastic job, whose sizes go by weights.
std::vector<spec_edit> edits_of_weights();

}  // namespace signalbox::search
