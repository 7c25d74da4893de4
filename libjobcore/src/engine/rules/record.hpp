// SPDX-License-Identifier: Apache-2.0
//
// What has consequences: at most one of these is recorded by a decision. Nothing acts on a record
// before it is written; the next decision does (BEHAVIOUR.md 12.3). A rule gives one, apply()
// writes it into the status.
#pragma once

#include "engine/health/health.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace signalbox::core::engine {

/// Whose failure ended an attempt, for its history (BEHAVIOUR.md 13.2).
struct failed_pod {
    std::string pod;
    std::string node;
    std::optional<std::int32_t> rank;
};

/// The job ends (BEHAVIOUR.md 4.1).
struct job_end {
    job_phase phase = job_phase::failed;
    engine::reason reason = reason::failed;
    std::string message;
    /// The replica failure that led to it, for people, if one did.
    std::optional<std::string> failure{};
    failed_pod whose{};
};

/// All pods of the job go (BEHAVIOUR.md 6.1).
struct pause_begin {
    /// The deciding pod has ended, and that does not end the job.
    bool attempt_is_over = false;
};
/// A paused job goes on with its next attempt (BEHAVIOUR.md 6.4).
struct pause_end {};
/// The job gets its first attempt (BEHAVIOUR.md 5.7).
struct first_attempt {};

/// An exit is on record, and its peers get time to follow (BEHAVIOUR.md 5.6).
struct exit_settles {
    incident_record entry;
    std::string failure;
};

/// Losses that are restarted (BEHAVIOUR.md 5.3-5.8).
struct incident {
    /// Its attempt is filled in when it is applied.
    incident_record entry;
    std::vector<replica> lost;
    /// Types of which a pod failed; empty unless the incident is counted.
    std::vector<std::size_t> failed_types;
    std::int32_t streak = 0;
    std::int32_t free_streak = 0;
    /// Part of the incident that is on record: it costs nothing more (BEHAVIOUR.md 5.5).
    bool joins_last = false;
    std::string failure;
    failed_pod whose{};
    /// What the rule in the entry says, if one is there.
    failure_action failed_by = failure_action::restart;
    std::string avoid;          ///< the node that it lays the incident to; empty: none
    std::int32_t forgiven = 0;  ///< counted incidents that cost nothing any more (13.5)
    /// Restarts without progress, this one too, where restarts are judged by progress (13.9).
    std::optional<std::int32_t> idle{};
};

/// Replicas that failed for good while the job goes on without them (BEHAVIOUR.md 5.10).
struct replicas_given_up {
    struct entry {
        replica which;
        std::string failure;
    };
    std::vector<entry> entries;
};

/// Replicas under `Always` that exited 0 run again (BEHAVIOUR.md 5.9).
struct replicas_repeated {
    std::vector<replica> which;
};

/// The size in force follows the specification (BEHAVIOUR.md 7).
struct size_change {
    bool new_attempt = false;
    /// Replicas that a smaller size leaves out.
    std::vector<replica> leaving;
    std::int32_t before = 0;
    std::int32_t after = 0;
};

/// The specification is another than that of the attempt: the next one begins (BEHAVIOUR.md 10.4).
struct types_change {
    bool other_types = true;  ///< else its pods would start in another way
};

/// Replicas whose names are held by stuck pods get other names (BEHAVIOUR.md 1.3).
struct names_changed {
    std::vector<replica> which;
};

/// The job is admitted: its pods may run (BEHAVIOUR.md 8.12).
struct quota_taken {
    admission_record admission;
};
/// It is admitted no more, and what it has of pods stops (BEHAVIOUR.md 8.13).
struct quota_lost {
    std::string why;
    /// The attempt has had pods: it is over.
    bool ends_attempt = true;
};

/// Who schedules the pods of a job that left that open (BEHAVIOUR.md 8.15).
struct scheduler_chosen {
    std::string_view name;  ///< job_status::scheduler; has static storage
};

using record = std::variant<
    job_end,
    pause_begin,
    pause_end,
    first_attempt,
    exit_settles,
    incident,
    replicas_given_up,
    replicas_repeated,
    size_change,
    types_change,
    names_changed,
    quota_taken,
    quota_lost,
    scheduler_chosen>;

/// What every decision notes first: the replicas whose pod was seen (BEHAVIOUR.md 5.3). The
/// recorded part of the job's status with that; what is shown comes anew.
job_status note_seen(const inputs& in, const pod_view& view);
/// And which replicas are done (BEHAVIOUR.md 5.9).
void note_completed(const inputs& in, job_status& status, const health& h);

/// And a better message of the failure on record, as long as the job waits for what follows from
/// it: the one there is tells a consequence, and another pod tells what was before (3.13).
void note_better_message(
    const inputs& in, const pod_view& view, job_status& status, const health& h
);

/// Puts the record into the status. What is shown of it (phase of a job that goes on, conditions,
/// counts) follows from the facts later.
void apply(const inputs& in, job_status& status, const record& r);

/// Events that tell of the record, in order. `c.status` has it.
std::vector<event> events_of(const context& c, const record& r);

/// The replica failure that the record tells of, for the condition ReplicaFailure, or null. Valid
/// as long as the record.
const std::string* failure_of(const record& r);

}  // namespace signalbox::core::engine
