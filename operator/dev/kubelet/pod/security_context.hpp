// SPDX-License-Identifier: Apache-2.0
//
// What a pod and its containers say of rights (`securityContext`), and what of it has no effect
// here.
#pragma once

#include "kubelet/pod/pod_spec.hpp"
#include "pods/json_value.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace signalbox::op::kubelet {

/// The capabilities of root in a container that asks for none, by bits.
inline constexpr std::uint64_t usual_rights = 0xa00425fb;

/// `from`: of a container, or of the pod. `otherwise`: what the pod says, for what a container
/// leaves out.
security read_security(const pods::json_value& from, const security& otherwise);

/// What the specification of a pod asks for outside of any context, and does not get.
std::vector<std::string> unmet_sharing(const pods::json_value& spec);

/// A sentence on what of the pod has no effect here, each with its container; empty if all has.
std::string unmet_text(const pod_spec& pod);

}  // namespace signalbox::op::kubelet
