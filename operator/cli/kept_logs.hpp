// SPDX-License-Identifier: Apache-2.0
//
// Logs of pods that are gone, which `signalbox dev` keeps as long as it runs: a folder beside its
// kubeconfig.
#pragma once

#include "cli/commands.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace signalbox::op::cli {

struct kept_log_file {
    std::string replica;             ///< `worker-0`
    std::vector<std::string> paths;  ///< the older one first
};

/// Those of training containers of that attempt, by replica. None where the kubeconfig is not of a
/// `signalbox dev` whose pods are processes.
std::vector<kept_log_file> find_kept_logs(
    const cluster_options& cluster,
    const std::string& ns,
    const std::string& job,
    std::int64_t attempt
);

}  // namespace signalbox::op::cli
