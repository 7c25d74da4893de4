// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jobcore/time.hpp"

#include <algorithm>
#include <cstddef>

namespace signalbox::core::engine {

/// How long a status may wait that is written at most once in an `interval`, of a job with a
/// specification of that size: the server reads and writes the whole job with it (BEHAVIOUR.md
/// 4.16). Zero: it may not wait at all.
inline milliseconds deferral(milliseconds interval, std::size_t spec_bytes) {
    constexpr std::size_t bytes_a_second = 128u << 10;
    return interval == milliseconds::zero()
               ? interval
               : std::max<milliseconds>(interval, seconds(spec_bytes / bytes_a_second));
}

}  // namespace signalbox::core::engine
