// SPDX-License-Identifier: Apache-2.0
//
// The life of one simulated pod as a list of steps in time. Pure: no clock, no API.
#pragma once

#include "pods/behaviour.hpp"
#include "pods/pod_facts.hpp"

#include <vector>

namespace signalbox::op::pods {

enum class step {
    bind,           ///< to a node
    no_node,        ///< the scheduler finds none: condition Unschedulable
    image_error,    ///< the training container waits with an image error
    start_init,     ///< init containers run
    fail_init,      ///< an init container failed; the pod has Failed
    start,          ///< all containers run
    start_unready,  ///< the same, not yet Ready
    become_ready,
    end,              ///< the training container ends with the behaviour's exit code
    end_oom,          ///< it is killed for memory
    evict,            ///< the kubelet evicts the pod
    preempt,          ///< the scheduler marks and deletes it
    remove,           ///< a user deletes it
    vanish,           ///< its object is removed at once
    lose_node,        ///< phase Unknown
    finish_deletion,  ///< containers stop, then the object is removed
};

struct timed_step {
    duration at;  ///< from when the pod was first seen
    step what;
    friend bool operator==(const timed_step&, const timed_step&) = default;
};

/// Everything that will happen to a pod, sorted by time. `now` is the server's time: a pod that
/// runs already goes on where it is.
std::vector<timed_step> plan_life(
    const pod_facts& pod, const behaviour& does, std::chrono::system_clock::time_point now
);

/// What happens once its deletion is seen. `running`: containers run, and need time to stop.
std::vector<timed_step> plan_deletion(const pod_facts& pod, const behaviour& does, bool running);

}  // namespace signalbox::op::pods
