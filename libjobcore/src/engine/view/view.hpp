// SPDX-License-Identifier: Apache-2.0
//
// Observed pods matched to the wanted replicas: which pod is the recorded one of each index, which
// are left over, which block a name. Linear in pods and replicas.
#pragma once

#include "engine/facts/inputs.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core::engine {

/// One wanted replica.
struct replica_view {
    /// The pod of the recorded attempt and round. Never one whose labels are incomplete.
    const pod_record* current = nullptr;
    /// Of `current` the training container; null if it has none. Found once, as each step asks.
    const container_record* training = nullptr;
    /// The newest pod of the recorded attempt, of whatever round: what counts show (4.15).
    const pod_record* newest = nullptr;
    /// An older pod still stands in the way of this index (5.7).
    bool blocked = false;
    /// The labels of the index's own pod were damaged (1.9), or it is forged (2.14): it is to be
    /// replaced.
    bool damaged = false;
    std::int32_t round = 0;
    std::int32_t rename = 0;
    bool seen = false;
    bool completed = false;
    bool given_up = false;

    /// Nothing is expected of this index any more in this attempt.
    bool done() const { return completed || given_up; }
    /// Its training container runs.
    bool is_up() const {
        return training != nullptr && training->state == container_state::running;
    }
};

struct type_view {
    const type_plan* plan = nullptr;
    std::vector<replica_view> replicas;

    std::int32_t wanted() const { return static_cast<std::int32_t>(replicas.size()); }
};

/// A pod that is not wanted as it is: of an older attempt or round, surplus, a duplicate, damaged,
/// somebody else's work.
struct left_over {
    const pod_record* pod = nullptr;
    /// Its index, if that is wanted; else type is `no_type`.
    std::size_t type = 0;
    std::int32_t index = 0;
    /// Stands for an older attempt: no pod of the present one is made while it is there (5.7, I8).
    bool older_attempt = false;
    bool stuck = false;   ///< 1.3
    bool forged = false;  ///< 2.14
};
inline constexpr std::size_t no_type = static_cast<std::size_t>(-1);

struct pod_view {
    std::vector<type_view> types;  ///< as in the plan
    std::vector<left_over> left_overs;
    /// Pods already labelled `gone`; they only hold names.
    std::vector<const pod_record*> gone;
    /// Some pod of an older attempt is there and not stuck.
    bool older_attempt_left = false;
};

/// `stuck_after` zero: never stuck. `status` gives attempt, rounds, sizes.
pod_view make_view(
    const job_plan& plan,
    const job_status& status,
    const observed& seen,
    milliseconds stuck_after,
    instant now
);

/// What every step reads: the inputs, a status, and the view that belongs to that status.
struct context {
    const inputs& in;
    /// That of the job, or with what this decision records; without what is only shown
    /// (recorded_part), which `in.job.status` has.
    const job_status& status;
    const pod_view& view;

    bool is_deciding(std::size_t type, std::int32_t index) const {
        return type == in.plan.deciding_type && index == 0;
    }
    /// The replica that decides; null if the job has none at its present size.
    const replica_view* deciding() const;
    /// Null if no such replica is wanted; `type` may be no_type.
    const replica_view* find_replica(std::size_t type, std::int32_t index) const;
    /// Of the wanted replica's pod, whether it is there or not.
    std::string name_of(std::size_t type, std::int32_t index) const;
};

/// Replicas that run or have completed.
std::int32_t replicas_up(const pod_view& view);

/// Calls `visit(type number, index, replica)` for every wanted replica, spec order.
template <class Visit>
void for_each_replica(const pod_view& view, Visit visit) {
    for (std::size_t r = 0; r < view.types.size(); ++r) {
        const auto& replicas = view.types[r].replicas;
        for (std::size_t i = 0; i < replicas.size(); ++i) {
            visit(r, static_cast<std::int32_t>(i), replicas[i]);
        }
    }
}

/// Of the inputs' pods, for a status.
pod_view make_view(const inputs& in, const job_status& status);

/// The labels tell the type and index that the name tells, which cannot change (BEHAVIOUR.md
/// 1.9). `type`: number of the label's type, if known; it makes the answer cheap.
bool is_named_so(const job_plan& plan, const pod_record& pod, std::size_t type = no_type);

/// One of the job's whose labels can be believed: all are there and fit its name (BEHAVIOUR.md
/// 1.6, 1.9).
bool is_sound(const inputs& in, const pod_record& pod);

/// A sound pod of the attempt; null if there is none. It looks no further than the first.
const pod_record* find_pod_of(const inputs& in, std::int32_t attempt);

/// The replica type in the name of a pod of the job; empty if the name is none.
std::string_view type_from_name(const job_plan& plan, std::string_view name);

/// Identity from a pod's name, where labels do not tell (1.9): type and index. type is no_type if
/// the name is none of this job's.
pod_identity identity_from_name(const job_plan& plan, std::string_view name);

}  // namespace signalbox::core::engine
