// SPDX-License-Identifier: Apache-2.0
#include "protocol/discovery_fsm.hpp"

#include <algorithm>
#include <utility>

namespace signalbox::k8sio::protocol {

discovery_fsm::action discovery_fsm::next(steady_time now, bool lists_complete) {
    if (const auto* rests = std::get_if<resting>(&state_);
        rests != nullptr && now >= rests->until) {
        state_ = looking();
    }
    if (const auto* look = std::get_if<looking>(&state_)) {
        if (look->resource < resources_) {
            return ask{look->resource};
        }
        const bool all_answered = look->all_answered;
        if (std::exchange(first_, false) && !lists_complete) {
            state_ = awaiting_lists{now + timing_.first_list_time, all_answered};
        } else {
            rest(now, all_answered);
        }
    }
    if (const auto* waits = std::get_if<awaiting_lists>(&state_)) {
        if (now < waits->until) {
            return sleep{waits->until};
        }
        rest(now, waits->all_answered);
    }
    return sleep{std::get<resting>(state_).until};
}

void discovery_fsm::answered(std::optional<bool> served) {
    auto& look = std::get<looking>(state_);
    ++look.resource;
    look.all_answered = look.all_answered && served.has_value();
}

void discovery_fsm::rest(steady_time now, bool all_answered) {
    const auto pause = all_answered ? timing_.interval : std::min(retry_, timing_.interval);
    retry_ = all_answered ? timing_.first_retry : pause * 2;
    state_ = resting{now + std::chrono::duration_cast<steady_time::duration>(pause)};
}

bool discovery_fsm::settled(bool lists_complete) const {
    const bool waits = std::holds_alternative<awaiting_lists>(state_);
    return !first_ && (!waits || lists_complete);
}

}  // namespace signalbox::k8sio::protocol
