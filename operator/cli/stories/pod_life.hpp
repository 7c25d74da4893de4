// SPDX-License-Identifier: Apache-2.0
//
// What kubelet, scheduler and node make of a pod: from its JSON to the merge patch that says so.
// Pure functions; times are written in whole seconds, as Kubernetes does.
#pragma once

#include "cli/stories/story.hpp"

#include <jobcore/time.hpp>

#include <string>
#include <string_view>

namespace signalbox::op::stories {

/// How a pod's containers end.
struct pod_end {
    std::int32_t code = 0;
    std::string reason;    ///< empty: `Completed` or `Error`
    std::string message;   ///< what they leave in /dev/termination-log
    bool evicted = false;  ///< its node is drained: a disruption
};

/// All containers run, and it is Ready.
std::string pod_started(std::string_view pod_json, core::instant now);
/// All containers that run end.
std::string pod_ended(std::string_view pod_json, const pod_end& end, core::instant now);
/// Its containers wait for what does not come by itself, as `ImagePullBackOff`.
std::string pod_cannot_start(
    std::string_view pod_json, std::string_view reason, std::string_view message
);
/// The scheduler has no node for it.
std::string pod_unschedulable(std::string_view message);
/// Its node does not report any more.
std::string pod_unready();
/// The node is given up: the pod is to go (conditions as the taint manager has them).
std::string pod_tainted();

}  // namespace signalbox::op::stories
