// SPDX-License-Identifier: Apache-2.0
//
// A scheduler for jobs that leave it open (BEHAVIOUR.md 8.15).
#include "engine/facts/chosen_scheduler.hpp"
#include "engine/rules/rules.hpp"

namespace signalbox::core::engine {

std::optional<record> settle_scheduler(const context& c, const health&, const open_questions&) {
    if (!is_scheduler_open(c.status)) {
        return std::nullopt;
    }
    const auto choice = choose_scheduler(c.in);
    const auto* name = std::get_if<std::string_view>(&choice);
    return name != nullptr ? std::optional<record>(scheduler_chosen{*name}) : std::nullopt;
}

}  // namespace signalbox::core::engine
