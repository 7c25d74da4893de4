// SPDX-License-Identifier: Apache-2.0
//
// The status that says where a pod is. Pure.
#pragma once

#include "kubelet/machine/container_order.hpp"
#include "pods/pod_status.hpp"

#include <optional>
#include <string>

namespace signalbox::op::kubelet {

/// What is reported of a pod beside its containers.
struct pod_report {
    std::string host_address, address;
    std::optional<core::instant> accepted;
    /// Given to the pod as a whole, e.g. `Evicted`; then the phase is Failed.
    std::string reason, message;
    std::string disruption;  ///< reason of the condition DisruptionTarget
    /// Why its volumes cannot be made; empty: they are, or no one has tried. A kubelet has an event
    /// alone for it; here the containers wait with it, so that the job can tell it.
    std::string unmounted;
    bool node_lost = false;
    bool stopped = false;  ///< it was told to end
};

/// `before`: the status that this one follows, whose times of conditions stay.
pods::pod_status status_of(
    const pod_report& report,
    const container_lives& containers,
    const pod_spec& pod,
    const pods::pod_status& before,
    core::instant now
);

}  // namespace signalbox::op::kubelet
