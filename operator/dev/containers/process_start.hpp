// SPDX-License-Identifier: Apache-2.0
//
// What a child of the node process does until it is the program that was asked for.
#pragma once

#include "containers/container_runtime.hpp"
#include "containers/node_network.hpp"
#include "containers/protocol.hpp"
#include "containers/start_report.hpp"
#include "containers/unix.hpp"

#include <vector>

namespace signalbox::op::containers {

/// What both kinds of process have: all of it is inherited from the node process.
struct start_resources {
    const node_config* node = nullptr;
    std::vector<unique_fd>* stdio = nullptr;         ///< input if wanted, output, errors
    const std::vector<unique_fd>* groups = nullptr;  ///< `cgroup.procs` files to enter
    std::uint32_t first_id = 0;                      ///< of the sandbox's users, if it has its own
    std::uint32_t processes = 0;  ///< at once, where no control group holds that; 0: none
};

/// Becomes the first process of a container. To be called in process 1 of a new PID namespace.
[[noreturn]] void start_container(
    const container_spec& spec,
    const sandbox_namespaces& in,
    const start_resources& resources,
    start_report& report
);

/// Becomes one more process of the container whose first one is `first` (a PID descriptor). To be
/// called in a process of its PID namespace.
[[noreturn]] void start_beside(
    const process_spec& spec, int first, const start_resources& resources, start_report& report
);

}  // namespace signalbox::op::containers
