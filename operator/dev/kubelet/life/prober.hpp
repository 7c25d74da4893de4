// SPDX-License-Identifier: Apache-2.0
//
// Carries out probes and lifecycle hooks.
#pragma once

#include "kubelet/life/container_run.hpp"
#include "kubelet/life/node_services.hpp"
#include "kubelet/machine/pod_command.hpp"

#include <functional>
#include <memory>
#include <string>

namespace signalbox::op::kubelet {

/// Where a handler acts.
struct handler_target {
    std::shared_ptr<container_run> run;
    std::string sandbox, address;
    const container_spec* container = nullptr;  ///< for names of ports
};

/// Starts it; `done` is called once, never from inside. After `timeout` (0: none) it counts as a
/// failure, and what it has started ends.
void carry_out(
    node_services& node,
    const handler& what,
    const handler_target& target,
    std::chrono::nanoseconds timeout,
    std::function<void(handler_result)> done
);

/// Number of a port by number or by name; 0 if there is no such.
std::uint16_t port_number(const std::string& port, const container_spec& container);

}  // namespace signalbox::op::kubelet
