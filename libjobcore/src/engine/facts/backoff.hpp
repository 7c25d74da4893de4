// SPDX-License-Identifier: Apache-2.0
//
// The one way in which delays grow: restarts (BEHAVIOUR.md 5.4, 5.8), quota (2.8), names (1.8).
#pragma once

#include "jobcore/time.hpp"

#include <algorithm>
#include <cstdint>

namespace signalbox::core::engine {

/// `base`, doubled so many times, at most `max`. Zero or fewer times: `base`.
inline milliseconds doubled(milliseconds base, std::int32_t times, milliseconds max) {
    milliseconds delay = base;
    for (std::int32_t i = 0; i < times && delay < max; ++i) {
        delay *= 2;
    }
    return std::min(delay, max);
}

}  // namespace signalbox::core::engine
