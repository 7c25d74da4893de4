// SPDX-License-Identifier: Apache-2.0
//
// Where the containers of a pod are, what is to be done next, and the status that says so. Pure.
#pragma once

#include "kubelet/life/restart.hpp"
#include "kubelet/pod/pod_spec.hpp"
#include "pods/pod_status.hpp"

#include <optional>
#include <string>
#include <vector>

namespace signalbox::op::kubelet {

struct container_place {
    enum class stage {
        waiting,   ///< to be started when its turn comes, and not before `due`
        starting,  ///< being made
        running,
        stopping,  ///< told to end
        ended,     ///< for good
    };
    stage at = stage::waiting;
    k8sio::steady_time due{};
    k8sio::steady_time started{};
    restart_delay delay;
    pods::container_status status;
    bool started_up = false;  ///< the startup probe has succeeded, or there is none
    bool ready = false;       ///< says the readiness probe
    bool active() const {
        return at == stage::starting || at == stage::running || at == stage::stopping;
    }
};

struct pod_state {
    std::vector<container_place> containers;  ///< as in pod_spec
    bool prepared = false;                    ///< volumes, network and files are there
    bool stopping = false;  ///< nothing is started any more: deletion, deadline, eviction
    bool node_lost = false;
    /// Given to the pod as a whole, e.g. `Evicted`; then the phase is Failed.
    std::string reason, message;
    std::string disruption;  ///< reason of the condition DisruptionTarget
    std::string host_address, address;
    std::optional<core::instant> accepted;
};

/// What is to be done now.
struct next_steps {
    std::vector<std::size_t> start;          ///< containers
    std::vector<std::size_t> stop;           ///< containers
    std::optional<k8sio::steady_time> wake;  ///< when to ask again though nothing happens
    bool over = false;                       ///< no container runs, and none will
    friend bool operator==(const next_steps&, const next_steps&) = default;
};
next_steps steps_of(const pod_state& state, const pod_spec& pod, k8sio::steady_time now);

/// Takes over that the container has ended so, and decides whether it starts again.
void note_end(
    pod_state& state,
    std::size_t container,
    const pod_spec& pod,
    pods::container_state how,
    k8sio::steady_time now
);

/// `before`: the status that this one follows, whose times of conditions stay.
pods::pod_status status_of(
    const pod_state& state, const pod_spec& pod, const pods::pod_status& before, core::instant now
);

/// As a pod is when it is first seen; with what its status tells of an earlier time.
pod_state first_state(const pod_spec& pod, core::instant now);

}  // namespace signalbox::op::kubelet
