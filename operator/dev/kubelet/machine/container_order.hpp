// SPDX-License-Identifier: Apache-2.0
//
// Which containers of a pod start and stop now. Pure.
#pragma once

#include "kubelet/machine/container_life.hpp"

#include <optional>
#include <vector>

namespace signalbox::op::kubelet {

/// The containers of a pod, as in pod_spec.
using container_lives = std::vector<container_life>;

/// The first init container that keeps the others waiting; the first main one if there is none.
std::size_t first_hold(const container_lives& containers, const pod_spec& pod);
/// All main containers have ended for good.
bool mains_ended(const container_lives& containers, const pod_spec& pod);
/// An init container has failed for good.
bool init_failed(const container_lives& containers, const pod_spec& pod);
bool any_active(const container_lives& containers);

/// Those whose turn it is to start, whether they are due or not.
std::vector<std::size_t> to_start(const container_lives& containers, const pod_spec& pod);
/// Of a pod that ends: main containers first; sidecars when no main one is left, the last first.
std::vector<std::size_t> to_stop(const container_lives& containers, const pod_spec& pod);

}  // namespace signalbox::op::kubelet
