// SPDX-License-Identifier: Apache-2.0
#include "engine/facts/spec_edits.hpp"

namespace signalbox::core::engine {

bool is_forbidden_edit(const job_spec& before, const job_spec& after) {
    if (before.mode.pause) {
        return false;
    }
    job_spec same = after;
    same.mode.pause = before.mode.pause;
    run_policy& policy = same.policy;
    policy.backoff_limit = before.policy.backoff_limit;
    policy.active_deadline_seconds = before.policy.active_deadline_seconds;
    policy.clean_up = before.policy.clean_up;
    policy.clean_up_workers = before.policy.clean_up_workers;
    policy.ttl_seconds_after_finished = before.policy.ttl_seconds_after_finished;
    if (same.elastic && before.elastic) {
        same.elastic->expected_replicas = before.elastic->expected_replicas;
    }
    const auto* old_torch = std::get_if<pytorch_spec>(&before.launch);
    auto* torch = std::get_if<pytorch_spec>(&same.launch);
    if (torch != nullptr && old_torch != nullptr) {
        torch->tensorboard = old_torch->tensorboard;
    }
    return same != before;
}

}  // namespace signalbox::core::engine
