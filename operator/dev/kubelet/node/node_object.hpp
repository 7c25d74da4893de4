// SPDX-License-Identifier: Apache-2.0
//
// The machine as a Node. The texts are pure.
#pragma once

#include "kubelet/node/scheduler.hpp"
#include "kubelet/pod/environment.hpp"

#include <jobcore/time.hpp>

#include <string>

namespace signalbox::op::kubelet {

/// Processors and memory of this machine, in `place`.
void measure_machine(pod_place& place);
/// Its name in lower case, as a name of an object.
std::string machine_name();

std::string node_body(const node_offer& node);
/// Merge patch of the status.
std::string node_status(const node_offer& node, const pod_place& place, core::instant now);

}  // namespace signalbox::op::kubelet
