// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gang/scheduler.hpp"

namespace signalbox::core::gang {

/// The scheduler of Kubernetes itself (`scheduler.kubernetes`): `scheduling.k8s.io/v1beta1`
/// PodGroup, which pods name in `spec.schedulingGroup`. It holds pods until as many as the minimum
/// fit, counts none that has ended, and says nothing of a restart.
extern const scheduler kubernetes;

}  // namespace signalbox::core::gang
