// SPDX-License-Identifier: Apache-2.0
//
// The status of a job, BEHAVIOUR.md api 5. It is the engine's only memory: everything that must
// survive a restart of the operator is a field here. What each field means to a user is in
// libjobcore/API.md; times are API-server time in whole seconds. Plain values: different objects
// may be used from different threads.
#pragma once

#include "jobcore/admission.hpp"
#include "jobcore/progress.hpp"
#include "jobcore/spec.hpp"
#include "jobcore/time.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::core {

enum class job_phase {
    none,  ///< the operator has not written a status yet
    pending,
    running,
    paused,
    resuming,
    succeeded,
    failed,
    unknown,
};
/// `Pending` ...; of `none` empty. Has static storage.
std::string_view to_string(job_phase phase);
/// Unknown texts read as `none`.
job_phase parse_job_phase(std::string_view text);

/// The job has ended: its phase never changes again (BEHAVIOUR.md 4.1).
constexpr bool is_final(job_phase phase) {
    return phase == job_phase::succeeded || phase == job_phase::failed;
}

/// A set of replica indexes kept as sorted ranges; its text form is `0-3,7`. Indexes are not
/// negative. Time and memory go by the number of ranges, not of indexes.
class index_set {
public:
    bool contains(std::int32_t index) const;
    void insert(std::int32_t index);
    void erase(std::int32_t index);
    /// Removes that index and all behind it.
    void erase_from(std::int32_t index);
    bool empty() const { return ranges_.empty(); }
    std::int64_t size() const;
    std::string text() const;
    /// Malformed parts and negative numbers are skipped: a status edited by hand must not stop us.
    static index_set parse(std::string_view text);
    friend bool operator==(const index_set&, const index_set&) = default;

private:
    std::vector<std::pair<std::int32_t, std::int32_t>> ranges_;  // [first, last], disjoint, sorted
};

/// What holds of the job, and since when (BEHAVIOUR.md 4.13).
struct condition {
    std::string type;
    bool status = false;
    std::string reason;
    std::string message;
    std::optional<instant> last_transition;
    friend bool operator==(const condition&, const condition&) = default;
};

struct container_status {
    std::string name;
    std::string state;  ///< `Waiting` `Running` `Terminated` `Unknown`
    std::optional<std::int32_t> exit_code;
    friend bool operator==(const container_status&, const container_status&) = default;
};

/// A pod of the job as users see it.
struct replica_status {
    std::string name;
    std::string uid;
    std::string phase;  ///< the Pod's five, or `Creating`, `Deleted`
    std::vector<container_status> containers;
    friend bool operator==(const replica_status&, const replica_status&) = default;
};

/// A replica type (BEHAVIOUR.md api 5.2). `wanted` is the size in force (BEHAVIOUR.md 7.2).
struct task_status {
    std::string type;
    std::int32_t restart_count = 0;  ///< counted incidents in which a pod of this type failed
    std::int32_t wanted = 0;
    std::vector<replica_status> replicas;  ///< not all of a large job (BEHAVIOUR.md 4.16)
    friend bool operator==(const task_status&, const task_status&) = default;
};

/// Pods by state; the sum is the wanted number of replicas (BEHAVIOUR.md 4.15).
struct aggregate_counts {
    std::int32_t creating = 0, pending = 0, running = 0, succeeded = 0, failed = 0, unknown = 0,
                 deleted = 0;
    friend bool operator==(const aggregate_counts&, const aggregate_counts&) = default;
};

struct typed_indexes {
    std::string type;
    index_set indexes;
    friend bool operator==(const typed_indexes&, const typed_indexes&) = default;
};

/// A pod that was lost in an incident.
struct incident_pod {
    std::string name;
    std::string uid;
    std::optional<std::int32_t> exit_code;
    std::string reason;
    friend bool operator==(const incident_pod&, const incident_pod&) = default;
};

/// The last incident (BEHAVIOUR.md 5.3).
struct incident_record {
    std::optional<instant> time;
    std::string cause;
    std::string reason;
    restart_scope scope = restart_scope::job;
    bool counted = false;
    std::int32_t attempt = 0;  ///< the attempt after the incident
    std::optional<instant> not_before;
    std::vector<incident_pod> pods;
    std::int32_t more = 0;
    /// The failure that is named as the cause, at most 1,023 bytes; empty: none
    /// (BEHAVIOUR.md 3.13).
    std::string message{};
    /// The message tells only what follows from the end of another process.
    bool consequence = false;
    /// Which failure rule it goes by, `failureRules/2` or `default/EccError`; empty: none
    /// (BEHAVIOUR.md 13.3, 13.4).
    std::string rule{};
    friend bool operator==(const incident_record&, const incident_record&) = default;
};

/// How often an index was replaced alone in this attempt (BEHAVIOUR.md 5.7).
struct replaced_index {
    std::string type;
    std::int32_t index = 0;
    std::int32_t round = 0;
    friend bool operator==(const replaced_index&, const replaced_index&) = default;
};

/// An index whose pod has a name that ends in `-r<k>` (BEHAVIOUR.md 1.3).
struct renamed_index {
    std::string type;
    std::int32_t index = 0;
    std::int32_t k = 0;
    friend bool operator==(const renamed_index&, const renamed_index&) = default;
};

/// The memory of incidents (BEHAVIOUR.md api 5.4). The lists of indexes are of the present attempt.
struct restart_ledger {
    std::int32_t disruptions = 0;         ///< incidents that were not counted
    std::vector<typed_indexes> seen;      ///< their pod of this attempt and round was in view
    std::int32_t free_streak = 0;         ///< uncounted incidents in a row with a short-lived pod
    std::vector<typed_indexes> given_up;  ///< failed for good, while the job goes on
    std::int32_t streak = 0;              ///< counted incidents since the job was last healthy
    std::optional<incident_record> last;
    /// Exits whose peers get time to follow (BEHAVIOUR.md 5.6): no incident yet. `time` is that of
    /// the first.
    std::optional<incident_record> settling;
    std::vector<replaced_index> replaced;
    std::vector<renamed_index> renamed;
    std::int32_t renames = 0;              ///< how many such names there were
    std::vector<typed_indexes> completed;  ///< ended with 0 and need not run again
    /// Counted incidents that a long run has given back to the budget (BEHAVIOUR.md 13.5).
    std::int32_t forgiven = 0;
    /// Where restarts are judged by progress (BEHAVIOUR.md 13.9): the furthest step at the last
    /// one, and how many there were since that was first reached.
    std::optional<std::int64_t> furthest_step{};
    std::int32_t idle = 0;
    friend bool operator==(const restart_ledger&, const restart_ledger&) = default;
};

/// What a job spends its time on (BEHAVIOUR.md 13.1).
enum class time_kind {
    none,  ///< nothing: the job has ended, or nothing is on record
    queued,
    starting,
    running,
    restarting,
    stalled,
    paused,
};
/// `Queued` ...; of `none` empty. Has static storage.
std::string_view to_string(time_kind kind);
/// Unknown texts read as `none`.
time_kind parse_time_kind(std::string_view text);

/// Where the time of a job went, in whole seconds. All of it together is the time from the creation
/// of the job to `since`; from there on it is `in` (BEHAVIOUR.md 13.1).
struct time_spent {
    std::int64_t queued = 0, starting = 0, running = 0, restarting = 0, stalled = 0, paused = 0;
    std::int64_t lost = 0;  ///< it ran, and no checkpoint holds what it did
    /// Of `running`, what no checkpoint of the attempt holds yet.
    std::int64_t unsaved = 0;
    time_kind in = time_kind::none;
    std::optional<instant> since;  ///< absent: nothing is on record
    /// Of `lost`, what a checkpoint saves that the attempt which lost it still writes.
    std::int64_t recoverable = 0;

    std::int64_t total() const {
        return queued + starting + running + restarting + stalled + paused + lost;
    }
    friend bool operator==(const time_spent&, const time_spent&) = default;
};

/// The rank that is furthest behind (BEHAVIOUR.md 13.7).
struct slowest_rank {
    std::int32_t rank = 0;
    std::int64_t step = 0;
    std::int64_t behind = 0;      ///< steps between it and the first
    std::optional<instant> time;  ///< when it came there
    friend bool operator==(const slowest_rank&, const slowest_rank&) = default;
};

/// Where training was at a time (BEHAVIOUR.md 13.7).
struct progress_point {
    std::optional<instant> time;
    std::int64_t step = 0;
    std::string loss;  ///< as it was reported; empty if it was not
    friend bool operator==(const progress_point&, const progress_point&) = default;
};
constexpr std::size_t most_points = 32;

/// How far training has come, as its processes reported it (BEHAVIOUR.md 13.7).
struct progress_status {
    std::int32_t attempt = 0;  ///< whose reports it is of
    std::int32_t rank = 0;     ///< who reported last
    std::optional<std::int64_t> current_step;
    std::optional<std::int64_t> total_steps;
    std::optional<std::int32_t> percentage;
    std::optional<std::int64_t> remaining_seconds;
    std::optional<instant> last_updated;  ///< when the last report came
    std::optional<instant> advanced;      ///< when the last one came that told of progress
    std::optional<std::int64_t> checkpoint_step;
    std::optional<instant> checkpoint_time;
    std::optional<std::int64_t> checkpoint_seconds;  ///< how long writing it took
    std::vector<progress_metric> metrics;
    std::optional<slowest_rank> slowest;
    std::vector<progress_point> course;  ///< in the order of their times
    friend bool operator==(const progress_status&, const progress_status&) = default;
};

/// A node that later pods avoid (BEHAVIOUR.md 13.6).
struct avoided_node {
    std::string node;
    std::string rule;             ///< as in incident_record
    std::optional<instant> time;  ///< of the last incident that a rule laid to it
    std::int32_t count = 1;       ///< how many there were
    friend bool operator==(const avoided_node&, const avoided_node&) = default;
};

/// An attempt that has ended (BEHAVIOUR.md 13.2).
struct attempt_record {
    std::int32_t attempt = 0;
    std::optional<instant> start;  ///< absent: an older version began it
    std::optional<instant> end;
    std::string reason;  ///< `restarts.last.cause`, that of the job's end, `Paused`, `Scaled` ...
    std::string message;
    std::string pod;  ///< whose failure it was; empty: that of none
    std::string node;
    std::optional<std::int32_t> rank;
    std::optional<std::int64_t> step{};  ///< the last one that it reported
    friend bool operator==(const attempt_record&, const attempt_record&) = default;
};

/// The object that runs a TensorBoard.
struct dependent_reference {
    std::string api_version;
    std::string kind;
    std::string name;
    std::string ns;
    std::string uid;
    friend bool operator==(const dependent_reference&, const dependent_reference&) = default;
};

struct tensorboard_status {
    std::string name;
    std::optional<dependent_reference> dependent;  ///< once it was observed
    bool ready = false;
    std::string reason;  ///< why it is not ready
    std::string action;  ///< what the operator last did to it
    std::string note;    ///< for people
    std::string type;    ///< `TensorBoard` or `Deployment`
    friend bool operator==(const tensorboard_status&, const tensorboard_status&) = default;
};

/// What the operator waits for on a clock, anchored in recorded facts.
struct transition {
    instant time;
    std::string reason;
    friend bool operator==(const transition&, const transition&) = default;
};

/// How far the job's training has come over all attempts, for what a resume runs
/// (BEHAVIOUR.md 3.11).
enum class training_state {
    unknown,      ///< no attempt has begun, or version 0.1 wrote the status
    not_started,  ///< no training container of a deciding pod has started
    started,
    resumed,  ///< the job was paused after that, and runs again
};
/// `NotStarted`, `Started`, `Resumed`; of `unknown` empty. Has static storage.
std::string_view to_string(training_state state);
/// Unknown texts read as `unknown`.
training_state parse_training_state(std::string_view text);

/// `.status` of a job.
struct job_status {
    job_phase phase = job_phase::none;
    std::string reason;
    std::vector<condition> conditions;
    std::vector<task_status> tasks;
    /// The last attempts that have ended, the oldest first (BEHAVIOUR.md 13.2).
    std::vector<attempt_record> attempt_history;
    std::optional<aggregate_counts> aggregate;
    std::int32_t backoff_count = 0;  ///< counted incidents (BEHAVIOUR.md 5.5)
    std::optional<tensorboard_status> tensorboard;
    std::int64_t observed_generation = 0;  ///< of the specification that this status is about
    std::optional<instant> start_time;
    std::optional<instant> completion_time;
    std::string duration;
    std::string ready;
    std::int32_t replicas = 0;
    std::string selector;
    std::optional<transition> next_transition;
    std::int32_t attempt = 0;  ///< 0 until the job leaves creation unpaused
    training_state training = training_state::unknown;
    restart_ledger restarts;
    /// Reasons of facts that were told by an event and still last (BEHAVIOUR.md 11.2).
    std::vector<std::string> told;
    std::optional<instant> attempt_start;  ///< of the present attempt
    time_spent time;
    std::vector<avoided_node> avoided;  ///< the one that was found bad last stands last
    std::optional<progress_status> progress;
    /// What a scheduler of quota has given, as long as that lasts (BEHAVIOUR.md 8.12).
    std::optional<admission_record> admission;
    /// The queue that a label of the job named when it began, or was resumed (BEHAVIOUR.md 8.10).
    std::string queue;
    /// The scheduler of gangs that was chosen for a job that left it open when it began, or was
    /// resumed: its name in `spec.scheduler`, `none`, or `auto` as long as nothing is chosen
    /// (BEHAVIOUR.md 8.15). Empty: the job named one, or was to have none.
    std::string scheduler;
    friend bool operator==(const job_status&, const job_status&) = default;
};

/// The metric that is called `loss`, as it was reported; empty without one.
std::string_view loss_of(const progress_status& progress);

/// The condition of that type, or null. Valid until `status.conditions` changes.
const condition* find_condition(const job_status& status, std::string_view type);

/// Of that attempt a checkpoint may be reported that saves what was lost with it: its pods have the
/// grace of their deletion, and nothing has run since (BEHAVIOUR.md 13.1).
bool may_save_work(const job_status& status, std::int32_t attempt);

/// Status of the object with this complete JSON text; the default value if there is none or the
/// text is no JSON. Unknown and malformed fields are skipped, and numbers and lists are bounded: a
/// status is ours, and one that somebody damaged must not stop the job (BEHAVIOUR.md api 5.4).
job_status parse_status(std::string_view object_json);

/// The value of `.status` as JSON. What is empty or zero is left out where that means the same;
/// `replicas`, `backoffCount` (of a kind that restarts) and all numbers of `aggregate` are written
/// always (BEHAVIOUR.md api 5.1, 5.3). Equal statuses give equal texts.
std::string format_status(const job_status& status, job_kind kind);

}  // namespace signalbox::core
