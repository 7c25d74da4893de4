// SPDX-License-Identifier: Apache-2.0
//
// What a status shows to people and tools, by facts alone: phase, conditions, counts (BEHAVIOUR.md
// 4). Nothing is decided here, and nothing follows from what is shown.
#pragma once

#include "engine/rules/open.hpp"
#include "engine/rules/record.hpp"
#include "engine/work/work.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core::engine {

/// What the engine did in this decision, for those who show it.
struct done {
    const std::optional<record>& recorded;
    const health& found;
    const open_questions& open;
    const work& planned;
    const progress_clock* still = nullptr;  ///< it stands still (13.8); else null
};

/// A fact that is told by one event when it begins and shown as long as it lasts (BEHAVIOUR.md
/// 11.2).
struct fact {
    engine::reason reason = reason::none;
    std::string text;
};

/// Phase and reason, and what they rest on.
struct phase_shown {
    job_phase phase = job_phase::none;
    engine::reason reason = reason::none;
    /// What the job waits for, where it does.
    std::string waits_for;
    std::vector<fact> facts;
    /// Why it does not run, where that is not what `reason` says.
    engine::reason waits_on = reason::none;
    /// The attempt runs as a whole.
    bool complete = false;
};

/// What the job spends its time on from then on (BEHAVIOUR.md 13.1).
struct time_change {
    time_kind now = time_kind::none;
    instant at{};
    /// What it did since its last checkpoint is lost.
    bool loses_work = false;
};

struct counts_shown {
    aggregate_counts aggregate;
    std::int32_t replicas = 0;
    std::string ready;
    std::string selector;
    /// Absent if the tasks of the status in hand say it already.
    std::optional<std::vector<task_status>> tasks;
};

/// What of a status is shown.
struct shown {
    std::optional<phase_shown> phase;  ///< absent of a job that has ended: its end is on record
    std::vector<condition> conditions;
    time_change time;
    counts_shown counts;
    std::optional<instant> start_time;
    std::optional<tensorboard_status> tensorboard;
    /// Of a job that has ended: what an event has told (11.2).
    std::vector<reason> told;
    std::vector<event> events;
    /// All that is awaited by the clock.
    std::vector<wake_up> wake_ups;
};

shown show(const context& c, const done& d);

/// Puts all of that into the status, but for tasks that stay as they were.
void fill(const inputs& in, job_status& status, shown display);

// The parts of show(), each in a file of its own.

/// Phase of a job that has not ended (BEHAVIOUR.md 4.7-4.12).
phase_shown show_phase(const context& c, const done& d);

/// The conditions of a job that has not ended (BEHAVIOUR.md 4.13). `failure`: the replica failure
/// that this decision records, or null.
/// `still`: it stands still, or null.
std::vector<condition> show_conditions(
    const context& c,
    const phase_shown& phase,
    const std::string* failure,
    const progress_clock* still
);

/// `phase` is absent of a job that has ended.
time_change find_time_change(
    const context& c, const std::optional<phase_shown>& phase, const done& d
);
/// What was lost before is not lost for good: nothing has run since, so that the pods which lost it
/// may still write it down.
bool may_come_back(time_kind now);
/// Books the time since the last change, where it is on record since when. `status` is the new one.
void book_time(const inputs& in, const time_change& change, job_status& status);
/// The same where nothing is on record yet: the record begins with the creation of the job, so far
/// as the status in hand tells it.
void begin_time(const inputs& in, const time_change& change, job_status& status);

/// An end as conditions tell it.
struct end_told {
    bool success = false;
    std::string_view reason;  ///< that of a status may be another version's
    std::string_view message;
    const std::string* failure = nullptr;  ///< the replica failure that led to it, if one did
};
/// The conditions of a job that has ended, or ends with this record.
std::vector<condition> show_end(const context& c, const end_told& end);
std::vector<condition> show_end(const context& c, const job_end& end);

/// tasks, aggregate, ready, replicas, selector (BEHAVIOUR.md 4.15, api 5.3).
counts_shown show_counts(const context& c);

// events.cpp: what is told of a job besides its record (BEHAVIOUR.md 11.1).

/// The first write: the job is accepted, and what the user should know of its specification.
std::vector<event> tell_of_warnings(const inputs& in);
/// An edit that got past the rules starts nothing, but is told (BEHAVIOUR.md 10.2).
std::vector<event> tell_of_edits(const context& c);
/// Facts that begin, and the job's first running.
std::vector<event> tell_of_phase(const context& c, const phase_shown& phase);

}  // namespace signalbox::core::engine
