// SPDX-License-Identifier: Apache-2.0
//
// The node process: process 1 of a PID namespace that holds all containers, so that the kernel ends
// them with it, and it ends with the main process, whatever ends that.
#pragma once

namespace signalbox::op::containers {

/// Programs that make a local runtime call this first in main(): it does not return in a process
/// that was started to be the node process, and does nothing in others.
void become_node_process_if_asked();

/// argv[0] of a node process. argv[1] is the number of its socket.
inline constexpr const char* node_process_name = "signalbox-node";

}  // namespace signalbox::op::containers
