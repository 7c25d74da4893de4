// SPDX-License-Identifier: Apache-2.0
#include "jobcore/policy_fields.hpp"

#include <algorithm>
#include <array>

namespace signalbox::core {

std::span<const policy_field> policy_fields() {
    static constexpr std::array rows{
        policy_field{"always_delay", &policy::always_delay},
        policy_field{"attempts_in_status", &policy::attempts_in_status},
        policy_field{"capability_retry", &policy::capability_retry},
        policy_field{"counts_interval", &policy::counts_interval},
        policy_field{"evidence_bytes", &policy::evidence_bytes},
        policy_field{"evidence_limit", &policy::evidence_limit},
        policy_field{"evidence_of_agents", &policy::evidence_of_agents},
        policy_field{"evidence_pods", &policy::evidence_pods},
        policy_field{"evidence_wait", &policy::evidence_wait},
        policy_field{"exit_barrier", &policy::exit_barrier},
        policy_field{"finish_barrier", &policy::finish_barrier},
        policy_field{"first_failure_window", &policy::first_failure_window},
        policy_field{"free_delay", &policy::free_delay},
        policy_field{"free_delay_max", &policy::free_delay_max},
        policy_field{"healthy_after", &policy::healthy_after},
        policy_field{"name_retry", &policy::name_retry},
        policy_field{"name_retry_max", &policy::name_retry_max},
        policy_field{"namespace_bytes", &policy::namespace_bytes},
        policy_field{"pods_in_incident", &policy::pods_in_incident},
        policy_field{"progress_interval", &policy::progress_interval},
        policy_field{"quota_retry", &policy::quota_retry},
        policy_field{"quota_retry_max", &policy::quota_retry_max},
        policy_field{"renamed_in_status", &policy::renamed_in_status},
        policy_field{"replaced_in_status", &policy::replaced_in_status},
        policy_field{"replica_events", &policy::replica_events},
        policy_field{"replicas_in_status", &policy::replicas_in_status},
        policy_field{"restart_delay", &policy::restart_delay},
        policy_field{"restart_delay_max", &policy::restart_delay_max},
        policy_field{"settle", &policy::settle},
        policy_field{"short_life", &policy::short_life},
        policy_field{"stuck_after", &policy::stuck_after},
        policy_field{"texts_interval", &policy::texts_interval},
    };
    return rows;
}

bool set_policy_field(policy& of, std::string_view name, std::int32_t value) {
    const auto rows = policy_fields();
    const auto it = std::ranges::find(rows, name, &policy_field::name);
    if (it == rows.end()) {
        return false;
    }
    if (const auto* time = std::get_if<0>(&it->member)) {
        of.*(*time) = milliseconds(value);
    } else {
        of.*std::get<1>(it->member) = value;
    }
    return true;
}

}  // namespace signalbox::core
