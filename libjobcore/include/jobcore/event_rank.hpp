// SPDX-License-Identifier: Apache-2.0
//
// What matters more where not all events of jobs can be written (BEHAVIOUR.md 11.3).
#pragma once

#include "jobcore/decide.hpp"

#include <cstdint>

namespace signalbox::core {

enum class event_rank : std::uint8_t {
    detail,  ///< of one part of the job among others
    state,   ///< where the job stands
    end,     ///< how the job ended
};

/// By its reason.
event_rank rank_of(const event& told);

}  // namespace signalbox::core
