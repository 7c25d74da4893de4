// SPDX-License-Identifier: Apache-2.0
//
// The list of replaced indexes in the status is bounded (BEHAVIOUR.md api 5.4): what does not fit
// takes the whole job.
#pragma once

#include "engine/facts/ledger.hpp"
#include "engine/health/health.hpp"

#include <cstddef>

namespace signalbox::core::engine {

/// Counts how many further indexes may get a round.
class round_room {
public:
    explicit round_room(const context& c)
        : c_(c),
          left_(
              static_cast<std::ptrdiff_t>(c.in.policy.replaced_in_status) -
              static_cast<std::ptrdiff_t>(c.status.restarts.replaced.size())
          ) {}

    /// False if the list has no room for one more.
    bool take(std::size_t role, std::int32_t index) {
        return is_replaced(c_.status, c_.in.plan.roles[role].type, index) || left_-- > 0;
    }

private:
    const context& c_;
    std::ptrdiff_t left_;
};

}  // namespace signalbox::core::engine
