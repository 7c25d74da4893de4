// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gang/scheduler.hpp"

namespace signalbox::core::gang {

/// Kueue (`scheduler.kueue`, or the label `kueue.x-k8s.io/queue-name`): kueue.x-k8s.io/v1beta2
/// Workload. It gives quota to the whole job before there are pods, and takes it away again; it
/// places no pod itself.
extern const scheduler kueue;

}  // namespace signalbox::core::gang
