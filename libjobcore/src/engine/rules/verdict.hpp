// SPDX-License-Identifier: Apache-2.0
//
// What losses mean: free or counted, restarted or not, how far (BEHAVIOUR.md 5.4-5.11).
#pragma once

#include "engine/rules/record.hpp"

#include <string_view>

namespace signalbox::core::engine {

struct verdict {
    bool restartable = false;
    bool counted = false;
    restart_scope scope = restart_scope::job;
    /// Why it may not be restarted: BackoffLimitExceeded, ErrorInPod, PodRejected or ReplicaLost.
    std::string_view reason{};
    /// The failure that decides: of the pods that ended first, the lowest index (5.5).
    const loss* decisive = nullptr;
};

/// `h.losses` must not be empty.
verdict judge(const context& c, const health& h);

/// The loss that stands for all of them in messages and in the record.
const loss& leading_loss(const health& h, const verdict& v);

/// The end of a job whose losses may not be restarted.
job_end end_without_restart(const health& h, const verdict& v);

/// Replicas that could still run if those that failed are not made again (BEHAVIOUR.md 5.10).
std::int32_t replicas_remaining(const context& c, const health& h);

}  // namespace signalbox::core::engine
