// SPDX-License-Identifier: Apache-2.0
//
// What holds of every decision, whatever was observed (BEHAVIOUR.md, Invariants). Each violation
// is one line that begins with the rule it breaks.
#pragma once

#include "jobcore/decide.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace signalbox::test {

using violations = std::vector<std::string>;

/// What a decision was made on.
struct situation {
    const core::job_object& job;
    const core::observed& seen;
    const core::policy& rules;
    core::instant now;
    /// What `runPolicy.backoffLimit` means for the job.
    std::int32_t backoff_limit = 0;
    /// Nothing is created any more and nothing waits for it (BEHAVIOUR.md 2.5).
    bool namespace_dying = false;

    /// The specification has no error.
    bool compiled_well() const { return job.compiled && job.compiled->plan.has_value(); }
    /// Only if it compiled well.
    const core::job_plan& plan() const { return *job.compiled->plan; }
};

/// The identity that a pod record claims; type is out of range if its type is none of the plan's.
core::pod_identity identity_of(const core::job_plan& plan, const core::pod_record& pod);

/// Neither being deleted nor ended.
bool is_live(const core::pod_record& pod);

/// Of a decision: actions, events and wake-up.
void check_actions(const situation& s, const core::decision& d, violations& out);

/// Of the status it writes, against the one it was made on. `reachable`: the status in hand was
/// written by decisions of ours, not drawn or damaged.
void check_status(const situation& s, const core::decision& d, bool reachable, violations& out);

/// The status that stands after the decision survives the way through JSON, and is small.
void check_status_text(const situation& s, const core::decision& d, violations& out);

/// True if something of it is to be done now: a held action holds the stages after its own too.
bool acts(const core::decision& d, core::instant now);

/// Of a decision that changes nothing and asks for nothing: the job may wait like this (4.12).
void check_rest(const situation& s, const core::decision& d, violations& out);

}  // namespace signalbox::test
