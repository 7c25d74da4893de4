// SPDX-License-Identifier: Apache-2.0
#include "engine/facts/inputs.hpp"

#include "engine/facts/ledger.hpp"
#include "engine/facts/reasons.hpp"
#include "gang/scheduler.hpp"
#include "jobcore/strings.hpp"

namespace signalbox::core::engine {

milliseconds stuck_after(const job_meta& meta, const policy& policy) {
    const auto it = meta.annotations.find("batch.tensorstack.dev/stuck-after");
    if (it == meta.annotations.end()) {
        return policy.stuck_after;
    }
    const auto n = read_whole_number(it->second);
    return n ? milliseconds(seconds(*n)) : policy.stuck_after;
}

bool was_paused_once(const job_status& status) {
    return find_condition(status, condition_type::paused) != nullptr;
}

bool is_resumed(const job_status& status) {
    const bool unrecorded = status.training == training_state::unknown && status.attempt > 0;
    return unrecorded ? was_paused_once(status) : status.training == training_state::resumed;
}

render_options render_options_of(const job_status& status, const job_plan& plan) {
    render_options out{is_resumed(status), wanted_in_force(status, plan)};
    if (plan.gang) {
        for (const type_plan& type : plan.types) {
            out.ended.push_back(replicas_ended(status, type.name));
        }
        if (plan.gang->by->quota != nullptr) {
            out.admission = status.admission;
        }
    }
    return out;
}

std::string cut_message(std::string message, std::size_t limit) {
    message.resize(first_bytes(message, limit).size());
    return message;
}

std::string cut_in_front(std::string message) {
    constexpr std::string_view gap = " ... ";
    constexpr std::size_t head = 160, limit = 1023;
    if (message.size() <= limit) {
        return message;
    }
    const std::string end(last_bytes(message, limit - head - gap.size()));
    message.resize(first_bytes(message, head).size());
    return message.append(gap).append(end);
}

}  // namespace signalbox::core::engine
