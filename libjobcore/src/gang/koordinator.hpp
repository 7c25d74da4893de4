// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gang/scheduler.hpp"

namespace signalbox::core::gang {

/// Koordinator's scheduler (`scheduler.koordinator`): annotations on pods, and no object.
extern const scheduler koordinator;

}  // namespace signalbox::core::gang
