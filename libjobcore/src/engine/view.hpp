// SPDX-License-Identifier: Apache-2.0
//
// Observed pods sorted onto the wanted replicas: which pod is the recorded one of each index, which
// are left over, which block a name. Made once per decision, linear in pods and replicas.
#pragma once

#include "jobcore/decide.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core::engine {

/// One wanted replica.
struct slot {
    /// The pod of the recorded attempt and round. Never one whose labels are incomplete.
    const pod_record* current = nullptr;
    /// The newest pod of the recorded attempt, of whatever round: what counts show (4.15).
    const pod_record* newest = nullptr;
    /// An older pod still stands in the way of this index (5.7).
    bool blocked = false;
    /// The labels of the index's own pod were damaged (1.9): it is to be replaced.
    bool damaged = false;
    std::int32_t round = 0;
    std::int32_t rename = 0;
    bool seen = false;
    bool completed = false;
    bool given_up = false;

    /// Nothing is expected of this index any more in this attempt.
    bool settled() const { return completed || given_up; }
};

struct role_view {
    const role_plan* plan = nullptr;
    std::vector<slot> slots;

    std::int32_t wanted() const { return static_cast<std::int32_t>(slots.size()); }
};

/// A pod that is not wanted as it is: of an older attempt or round, surplus, a duplicate, damaged.
struct left_over {
    const pod_record* pod = nullptr;
    /// Its index, if that is wanted; else role is `no_role`.
    std::size_t role = 0;
    std::int32_t index = 0;
    /// Stands for an older attempt: no pod of the present one is made while it is there (5.7, I8).
    bool older_attempt = false;
    bool stuck = false;  ///< 1.3
};
inline constexpr std::size_t no_role = static_cast<std::size_t>(-1);

struct pod_view {
    std::vector<role_view> roles;  ///< as in the plan
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

/// Identity from a pod's name, where labels do not tell (1.9): role and index. role is no_role if
/// the name is none of this job's.
pod_identity identity_from_name(const job_plan& plan, std::string_view name);

}  // namespace signalbox::core::engine
