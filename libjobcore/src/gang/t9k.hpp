// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gang/scheduler.hpp"

namespace signalbox::core::gang {

/// The scheduler of T9k (`scheduler.t9kScheduler`): a PodGroup, which its pods name by a label. It
/// takes pods as they come, and does not say when a group is admitted.
extern const scheduler t9k;

}  // namespace signalbox::core::gang
