// SPDX-License-Identifier: Apache-2.0
//
// The list of replaced indexes in the status is bounded (BEHAVIOUR.md api 5.4): what does not fit
// takes the whole job.
#pragma once

#include "engine/facts/ledger.hpp"
#include "engine/health/health.hpp"

#include <cstddef>
#include <cstdint>

namespace signalbox::core::engine {

/// How many further indexes may get a round.
inline std::ptrdiff_t free_rounds(const context& c) {
    return static_cast<std::ptrdiff_t>(c.in.policy.replaced_in_status) -
           static_cast<std::ptrdiff_t>(c.status.restarts.replaced.size());
}

/// A round of that replica takes room in the list: it has none yet.
inline bool takes_room(const context& c, std::size_t type, std::int32_t index) {
    return !is_replaced(c.status, c.in.plan.types[type].name, index);
}

/// The list has room for a round of each of these (replicas or losses).
template <class Replicas>
bool has_room_for(const context& c, const Replicas& all) {
    std::ptrdiff_t room = free_rounds(c);
    for (const auto& one : all) {
        if (takes_room(c, one.type, one.index) && --room < 0) {
            return false;
        }
    }
    return true;
}

}  // namespace signalbox::core::engine
