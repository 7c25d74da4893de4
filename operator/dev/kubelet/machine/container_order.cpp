// SPDX-License-Identifier: Apache-2.0
#include "kubelet/machine/container_order.hpp"

#include <algorithm>

namespace signalbox::op::kubelet {

std::size_t first_hold(const container_lives& containers, const pod_spec& pod) {
    std::size_t i = 0;
    while (i < pod.containers.size() && pod.containers[i].init &&
           containers[i].lets_pass(pod.containers[i])) {
        ++i;
    }
    return i;
}

bool mains_ended(const container_lives& containers, const pod_spec& pod) {
    for (std::size_t i = 0; i < pod.containers.size(); ++i) {
        if (!pod.containers[i].init && !containers[i].is<container_states::ended>()) {
            return false;
        }
    }
    return true;
}

bool init_failed(const container_lives& containers, const pod_spec& pod) {
    for (std::size_t i = 0; i < pod.containers.size(); ++i) {
        if (pod.containers[i].init && !pod.containers[i].sidecar &&
            containers[i].is<container_states::ended>() && !containers[i].succeeded()) {
            return true;
        }
    }
    return false;
}

bool any_active(const container_lives& containers) {
    return std::ranges::any_of(containers, &container_life::active);
}

std::vector<std::size_t> to_start(const container_lives& containers, const pod_spec& pod) {
    std::vector<std::size_t> out;
    const std::size_t hold = first_hold(containers, pod);
    const bool held = hold < pod.containers.size() && pod.containers[hold].init;
    for (std::size_t i = 0; i < pod.containers.size(); ++i) {
        const bool turn =
            pod.containers[i].init ? i == hold || (pod.containers[i].sidecar && i < hold) : !held;
        if (turn && containers[i].is<container_states::waiting>()) {
            out.push_back(i);
        }
    }
    return out;
}

std::vector<std::size_t> to_stop(const container_lives& containers, const pod_spec& pod) {
    std::vector<std::size_t> out;
    bool mains = false;
    for (std::size_t i = 0; i < pod.containers.size(); ++i) {
        if (pod.containers[i].sidecar || !containers[i].active()) {
            continue;
        }
        mains = true;
        if (containers[i].is<container_states::running>()) {
            out.push_back(i);
        }
    }
    for (std::size_t i = pod.containers.size(); !mains && i-- > 0;) {
        if (!pod.containers[i].sidecar || !containers[i].active()) {
            continue;
        }
        if (containers[i].is<container_states::running>()) {
            out.push_back(i);
        }
        break;
    }
    return out;
}

}  // namespace signalbox::op::kubelet
