// SPDX-License-Identifier: Apache-2.0
//
// What one decision is made on. All of it is const: each step of the engine takes it and gives a
// value of its own.
#pragma once

#include "jobcore/decide.hpp"

#include <string>
#include <string_view>

namespace signalbox::core::engine {

/// The job was paused once: the condition Paused stays once it was set (BEHAVIOUR.md 4.13).
bool was_paused_once(const job_status& status);
/// The attempts of the job run with the resume specifications (BEHAVIOUR.md 3.11). Version 0.1,
/// which recorded nothing, ran with them after any pause.
bool is_resumed(const job_status& status);

/// What rendering needs of a status.
render_options render_options_of(const job_status& status, const job_plan& plan);

struct inputs {
    const job_object& job;
    const job_plan& plan;
    const observed& seen;
    const core::policy& policy;
    instant now;
    /// The specification has errors: nothing is created, patched or counted (BEHAVIOUR.md 4.2).
    bool invalid = false;
    /// The status was put right in this decision: it has to be on record before anything is done.
    bool repaired = false;
    /// `plan` is that of the attempt, and no pod can be made by it (BEHAVIOUR.md 10.4).
    bool outdated = false;

    /// What the next attempt would begin with.
    const job_plan& next_plan() const { return outdated ? *job.compiled->plan : plan; }
    bool owns(const pod_record& pod) const { return pod.owner_uid == plan.job_uid; }
    bool owns(const child_record& child) const {
        return child.owner_uid == plan.job_uid && child.keys != key_standing::foreign;
    }
    /// The job was paused when it was last written; what its pods do is our own doing.
    bool was_paused() const { return job.status.phase == job_phase::paused; }
};

/// The job's bound for stuck pods: annotation, else policy (BEHAVIOUR.md 1.3, api 1.11). Zero:
/// never stuck.
milliseconds stuck_after(const job_meta& meta, const policy& policy);

/// An event's message: at most 1,023 bytes, cut at a character (BEHAVIOUR.md 11.2).
std::string cut_message(std::string message, std::size_t limit = 1023);
/// At most 1,023 bytes of a failure: its first words, which say whose it is, and its end.
std::string cut_in_front(std::string message);

}  // namespace signalbox::core::engine
