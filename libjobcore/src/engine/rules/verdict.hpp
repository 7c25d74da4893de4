// SPDX-License-Identifier: Apache-2.0
//
// What losses mean: free or counted, restarted or not, how far (BEHAVIOUR.md 5.4-5.11).
#pragma once

#include "engine/rules/failure_rules.hpp"
#include "engine/rules/record.hpp"

#include <optional>
#include <span>
#include <string_view>

namespace signalbox::core::engine {

struct verdict {
    bool restartable = false;
    bool counted = false;
    /// They ended so near to the last counted incident that they are part of it (5.5).
    bool joins_last = false;
    restart_scope scope = restart_scope::job;
    /// Why it may not be restarted, if it may not: BackoffLimitExceeded, ErrorInPod, PodRejected or
    /// ReplicaLost.
    std::optional<engine::reason> reason{};
    /// The failure that decides and is told (first_failure).
    const loss* decisive = nullptr;
    /// The failure rule that holds, if one does (13.3).
    std::optional<matched_rule> rule{};
    /// Counted incidents that cost nothing any more (13.5).
    std::int32_t forgiven = 0;
    /// Restarts so far without getting further, where that is asked for (13.9).
    bool judged_by_progress = false;
    std::int32_t idle = 0;

    /// It is the rule that makes it free, and no disruption.
    bool freed_by_rule() const { return rule && !rule->by_default && !counted && restartable; }
};

/// The job had been Running for so long before that moment, without an incident meanwhile.
bool was_healthy_for(const context& c, instant end, milliseconds time);

/// Replicas are replaced alone, so that one failure leaves others to be judged (5.6).
bool replaces_alone(const context& c);

/// What is to be done about losses. They are judged one incident after the other, in the order of
/// their times, whichever of them are seen together (5.5): this is about the first of them.
struct judgement {
    /// The losses of that incident: of a job that restarts as a whole, all.
    health lost;
    verdict said;
    /// Where it is not restarted: its first failures, which alone have a consequence now.
    health first;
    /// They end the job; else they are given up (5.10).
    bool ends = false;
};

/// `h.losses` must not be empty.
judgement judge(const context& c, const health& h);

/// What follows from an attempt that stands still (13.8): `h` has that as its one loss.
verdict judge_stall(const context& c, const health& h);

/// The loss that stands for all of them in messages and in the record.
const loss& leading_loss(const health& h, const verdict& v);

/// Whose failure it is; of the Secret no replica's.
failed_pod whose(const loss& lost);

/// The end of a job whose losses may not be restarted.
job_end end_without_restart(const health& h, const verdict& v);

/// Wanted replicas that could still run if those that failed are not made again (BEHAVIOUR.md
/// 5.10).
std::int32_t replicas_remaining(const context& c, const health& h);

/// While this lasts, a failure that is still to come would count as first, and may allow the
/// restart that is refused now (BEHAVIOUR.md 5.5). Nothing if none could.
std::optional<instant> open_until(const context& c, const judgement& j);

}  // namespace signalbox::core::engine
