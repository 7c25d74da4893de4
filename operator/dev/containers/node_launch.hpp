// SPDX-License-Identifier: Apache-2.0
//
// Starts the node process.
#pragma once

#include "containers/container_runtime.hpp"
#include "containers/unix.hpp"

#include <sys/types.h>

#include <string>

namespace signalbox::op::containers {

struct launched_node {
    pid_t pid = 0;
    unique_fd pidfd;
    unique_fd socket;
};

/// Errors: what is missing.
result<launched_node> launch_node(bool user_mode);

/// First two numbers of addresses, such as `10.244`, that no route of the machine has.
std::string free_network();

}  // namespace signalbox::op::containers
