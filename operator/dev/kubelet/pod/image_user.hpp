// SPDX-License-Identifier: Apache-2.0
//
// As whom a container runs whose image has a say in it.
#pragma once

#include "kubelet/pod/pod_spec.hpp"
#include "kubelet/pod/refusal.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::op::kubelet {

struct account {
    std::int64_t user = 0, group = 0;
    std::vector<std::int64_t> groups;  ///< that have the user as a member
};

/// As kubelet and containerd choose it: `runAsUser`, else the image's USER, by name or number, else
/// root; `runAsGroup`, else the user's group in the image's `passwd`, else 0. A group that USER
/// names has no effect there (kubernetes issue 61967), and so none here.
///
/// Errors: CreateContainerError for a name that `passwd` does not have;
/// CreateContainerConfigError where `runAsNonRoot` cannot be held, with `container` in its words.
outcome<account> account_of(
    const security& rights,
    std::string_view image_user,
    std::string_view passwd,
    std::string_view groups,
    const std::string& container
);

}  // namespace signalbox::op::kubelet
