// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gang/scheduler.hpp"

namespace signalbox::core::gang {

/// Volcano (`scheduler.volcano`): a PodGroup, which pods name by an annotation; pods may be made
/// once its phase is Inqueue. By Volcano's types alone: it has not met the real one.
extern const scheduler volcano;

}  // namespace signalbox::core::gang
