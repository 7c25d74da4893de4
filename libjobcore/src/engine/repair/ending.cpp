// SPDX-License-Identifier: Apache-2.0
#include "engine/repair/ending.hpp"

#include "engine/facts/ledger.hpp"
#include "engine/shown/shown.hpp"

#include <algorithm>

namespace signalbox::core::engine {
namespace {

bool tells(const job_status& s, condition_type type, bool status) {
    const condition* c = find_condition(s, type);
    return c != nullptr && c->status == status && c->last_transition.has_value();
}

/// Older versions wrote no condition Succeeded.
bool denies(const job_status& s, condition_type type, bool status) {
    return find_condition(s, type) != nullptr && !tells(s, type, status);
}

bool is_of_end(const condition& c) {
    return says(c.type, condition_type::failed) || says(c.type, condition_type::succeeded);
}

}  // namespace

bool has_condition_of_end(const job_status& s) {
    return std::ranges::any_of(s.conditions, is_of_end);
}

void remove_conditions_of_end(job_status& s) {
    std::erase_if(s.conditions, is_of_end);
}

std::optional<instant> time_of_end(const job_status& s) {
    const condition* c = find_condition(s, condition_type::completed);
    return c != nullptr && c->status ? c->last_transition : std::nullopt;
}

std::string reason_of_end(const job_status& s) {
    if (s.phase == job_phase::succeeded) {
        return std::string(to_string(reason::succeeded));
    }
    const condition* c = find_condition(s, condition_type::failed);
    const bool known = c != nullptr && c->status && !c->reason.empty();
    return known ? c->reason : std::string(to_string(reason::error_in_pod));
}

bool tells_of_end(const job_status& s) {
    const bool success = s.phase == job_phase::succeeded;
    return tells(s, condition_type::running, false) && tells(s, condition_type::completed, true) &&
           tells(s, condition_type::failed, !success) &&
           !denies(s, condition_type::succeeded, success);
}

std::vector<condition> conditions_of_end(const inputs& in, const job_status& s) {
    end_told end{s.phase == job_phase::succeeded, s.reason, {}};
    for (const condition& c : s.conditions) {
        const bool of_it = says(c.type, condition_type::completed) || is_of_end(c);
        end.message = of_it && end.message.empty() ? std::string_view(c.message) : end.message;
    }
    const pod_view nothing;
    return show_end({in, s, nothing}, end);
}

}  // namespace signalbox::core::engine
