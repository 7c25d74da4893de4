// SPDX-License-Identifier: Apache-2.0
//
// What a cluster with schedulers of gangs serves, for a rehearsal without them.
#pragma once

#include "cli/check.hpp"

#include <jobcore/object_kind.hpp>

#include <set>
#include <string>

namespace signalbox::op::cli {

/// What the jobs of these files want their pods to be placed by (BEHAVIOUR.md 8.1).
std::set<core::object_kind> kinds_of_gangs(const check_result& objects);

/// What Kueue's stand-in needs beside, where jobs of these files name priority classes that the
/// files do not have: manifests, each a WorkloadPriorityClass of value 0.
std::string missing_priority_classes(const check_result& objects);

/// Stands in for the definition of such a kind: any object will do.
std::string stand_in(core::object_kind kind);

}  // namespace signalbox::op::cli
