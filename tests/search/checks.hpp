// SPDX-License-Identifier: Apache-2.0
//
// What must hold: of every decision as the process sees the world, of every write on the server's
// truth, and of a world at rest. Each violation is one line that begins with the rule it breaks.
#pragma once

#include "engine/facts/pod_facts.hpp"
#include "jobcore/decide.hpp"
#include "world.hpp"

#include <optional>
#include <string>
#include <vector>

namespace signalbox::search {

using violations = std::vector<std::string>;

/// Of a decision in this world, before it is carried out.
void check_decision(const world& w, const core::decision& d, violations& out);

/// What it records, against what truly happened.
void check_record(const world& w, const core::decision& d, violations& out);

/// Of an object that is about to be made.
void check_creation(
    const world& w, const core::job_object& decided, const core::action& a, violations& out
);

/// Of the pod that is about to be made: its owner, and what it tells of the others.
void check_pod(const world& w, const search_context::rendered_pod& pod, violations& out);

/// The only change of a pod's labels that there is (BEHAVIOUR.md 2.7).
void check_gone_label(const core::action& a, violations& out);

/// It is being deleted for so long that its node is taken to be lost (BEHAVIOUR.md 1.3).
bool is_stuck(const world& w, const core::pod_record& pod);

/// The job is deleted because its time to live has passed.
void check_expiry(const world& w, violations& out);

/// The counts in status are at most what happened (BEHAVIOUR.md I7).
void check_counts(const world& w, violations& out);

/// Nothing more happens by itself: the job has ended, or runs, or waits for what its status names
/// (BEHAVIOUR.md I18, I25).
void check_at_rest(const world& w, violations& out);

// quota_checks.cpp: quota that a scheduler gives (BEHAVIOUR.md 8.11-8.14)

/// Of a pod that is about to be made: it has quota, and that is on record.
void check_admitted(
    const world& w, const core::job_object& decided, const core::action& a, violations& out
);
/// Of what asks for quota or a gang is placed by, just made: it goes with the job.
void check_gang_object(const world& w, const core::child_record& made, violations& out);
/// Of a write to what asks for quota, before it: no quota is given back that pods still take, and
/// nothing is written that Kueue refuses or is stuck in.
void check_quota_write(const world& w, const core::action& a, violations& out);
/// At rest: no quota is kept for nothing, none is missing, and who waits for it says why.
void check_quota_at_rest(const world& w, violations& out);

// damage_checks.cpp

/// Of a job whose status, labels or specification somebody damaged; beside check_at_rest().
void check_damaged_at_rest(const world& w, violations& out);
/// Of a pod that is about to be made: nothing else of the job runs that is not of its attempt.
void check_beside(const world& w, const core::action& a, violations& out);
/// Every order of what is observed gives the same decision (BEHAVIOUR.md 12.11).
void check_order(const world& w, const core::decision& d, violations& out);
/// A status is repaired where somebody damaged it, and that is told once (BEHAVIOUR.md api 5.7).
void check_repair(world& w, const core::decision& d, violations& out);
/// Of a decision under an invalid specification.
void check_invalid_end(const world& w, const core::decision& d, violations& out);

/// A pod of the present attempt ended with another code than 0, whatever stands for its index now.
bool a_peer_failed(const world& w, const core::job_plan& plan);
/// How the pod ended, as its type in the plan has it; nothing if it has not, or has no type there.
std::optional<core::engine::pod_end> end_of_pod(
    const world& w, const core::job_plan& plan, const core::pod_record& pod
);
/// This one did.
bool is_failed_peer(const world& w, const core::job_plan& plan, const core::pod_record& pod);

/// Of a decision: what it says of progress and stalls (progress_checks.cpp).
void check_progress(const world& w, const core::decision& d, violations& out);
/// At rest: a standstill is noticed.
void check_progress_at_rest(const world& w, violations& out);
/// At rest, also where somebody damaged the status: where the time went adds up.
void check_times_at_rest(const world& w, violations& out);

}  // namespace signalbox::search
