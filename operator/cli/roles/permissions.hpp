// SPDX-License-Identifier: Apache-2.0
//
// What the operator needs to be allowed, by feature: the one list that roles are made from.
#pragma once

#include "controller/features.hpp"
#include "jobcore/spec.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace signalbox::op {

/// One rule of a role.
struct permission {
    std::optional<feature> of;  ///< nothing: whatever is left out
    std::string group;
    std::vector<std::string> resources;
    std::vector<std::string> verbs;
    std::string why;                 ///< a comment of one or more lines
    std::vector<std::string> names;  ///< of the only objects meant; empty: all
};

/// In the namespaces of the jobs. `kinds`: of jobs that are served.
std::vector<permission> job_permissions(std::span<const core::job_kind> kinds);

/// In the whole cluster, whatever namespaces are served: to receive reports of progress.
std::vector<permission> progress_permissions();

/// In the operator's own namespace: reports reach the replica that leads.
std::vector<permission> endpoint_permissions();
/// On objects that no namespace has, whichever namespaces are served.
std::vector<permission> cluster_permissions();

/// In the namespace of the Lease. `lease`: its name.
std::vector<permission> election_permissions(const std::string& lease);

}  // namespace signalbox::op
