// SPDX-License-Identifier: Apache-2.0
//
// The faults of one pod, and when they befall it. Pure.
#pragma once

#include "kubelet/pod/pod_spec.hpp"
#include "pods/behaviour.hpp"

#include <k8sio/time.hpp>

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace signalbox::op::kubelet {

using pods::fault;

class fault_plan {
public:
    explicit fault_plan(pods::behaviour faults) : state_(std::move(faults)) {}

    /// The first main container has started: times count from now. False if one had before.
    bool begin(k8sio::steady_time now);
    /// Faults that are annotated while the pod runs count from then on. Gives what is wrong.
    std::vector<std::string> read(
        const string_map& before, const string_map& annotations, k8sio::steady_time now
    );
    std::optional<k8sio::steady_time> wake() const;
    /// Those that are due, once each.
    std::vector<fault> take_due(k8sio::steady_time now);

private:
    struct timed {
        k8sio::steady_time at;
        fault what;
    };
    using schedule = std::vector<timed>;  // the earliest first

    static void add(schedule& to, const pods::behaviour& faults, k8sio::steady_time now);

    std::variant<pods::behaviour, schedule> state_;  // to come; or counted from the start
};

}  // namespace signalbox::op::kubelet
