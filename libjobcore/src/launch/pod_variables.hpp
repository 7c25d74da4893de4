// SPDX-License-Identifier: Apache-2.0
//
// Which variables of a container differ from pod to pod. They must not travel between pods.
#pragma once

#include "json/json.hpp"

#include <set>
#include <string>

namespace signalbox::core::launch {

/// Names of the container's variables that the kubelet fills from fields or resources of the pod
/// (`fieldRef`, `resourceFieldRef`), and of those whose value refers to one of these by `$(NAME)`.
std::set<std::string, std::less<>> pod_variables(const json::value& container);

}  // namespace signalbox::core::launch
