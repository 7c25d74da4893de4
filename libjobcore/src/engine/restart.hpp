// SPDX-License-Identifier: Apache-2.0
//
// What an incident means: free or counted, restarted or not, how far (BEHAVIOUR.md 5.4-5.10).
#pragma once

#include "engine/losses.hpp"

#include <span>
#include <string>
#include <string_view>

namespace signalbox::core::engine {

struct verdict {
    bool restartable = false;
    bool counted = false;
    restart_scope scope = restart_scope::job;
    /// Why it may not be restarted: BackoffLimitExceeded, ErrorInPod or PodRejected.
    std::string_view reason;
    /// The failure that decides: of the pods that ended first, the lowest index (5.5).
    const loss* decisive = nullptr;
};

/// `master_ended`: pod 0 is of no use to its peers any more though it is no loss (it exited 0).
verdict judge(const pass& p, std::span<const loss> losses, bool master_ended);

/// The same for kinds that restart nothing (5.11).
verdict judge_without_restart(const pass& p, std::span<const loss> losses);

/// True while an exit settles (5.6): then nothing but the end of that pod is recorded.
bool settles(pass& p, const look& l);

/// Records the incident and its consequences for attempt or rounds (5.3, 5.7, 5.8).
void record_incident(pass& p, std::span<const loss> losses, const verdict& v);

/// Records failed non-masters that are not made again in this attempt (5.10).
void give_up(pass& p, std::span<const loss> losses);

/// Raises the rounds of `Always` replicas that exited 0, not before 10 s after their start (5.9).
void replace_always(pass& p, const look& l);

}  // namespace signalbox::core::engine
