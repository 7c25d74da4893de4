// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gang/scheduler.hpp"

namespace signalbox::core::gang {

/// The coscheduling plugin (`scheduler.coscheduling`): `scheduling.x-k8s.io/v1alpha1` PodGroup,
/// which pods name by a label. It counts none that has ended.
extern const scheduler coscheduling;

}  // namespace signalbox::core::gang
