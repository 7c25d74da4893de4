// SPDX-License-Identifier: Apache-2.0
//
// A scheduler for jobs that leave it open (BEHAVIOUR.md 8.15).
#include "engine/facts/chosen_scheduler.hpp"
#include "engine/rules/rules.hpp"

namespace signalbox::core::engine {

std::optional<record> settle_scheduler(const context& c, const health&, const open_questions&) {
    const auto chosen =
        is_scheduler_open(c.status) ? choose_scheduler(c.in) : std::optional<std::string_view>();
    return chosen ? std::optional<record>(scheduler_chosen{*chosen}) : std::nullopt;
}

}  // namespace signalbox::core::engine
