// SPDX-License-Identifier: Apache-2.0
//
// Every reason, cause and condition type the engine writes, and what is awaited by the clock: one
// enumeration each, with its words in one table, so that code, tests, events and documents agree
// (BEHAVIOUR.md 4.14). A status has the words, the engine decides by the values.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox::core::engine {

/// Types of conditions, in the order in which a status shows them (BEHAVIOUR.md 4.13).
enum class condition_type : std::uint8_t {
    initialized,
    running,
    replica_failure,
    completed,
    failed,
    succeeded,
    paused,
    stalled,
};

/// Why a phase, a condition or the state of a TensorBoard is what it is, and what events are named
/// by.
enum class reason : std::uint8_t {
    none,  ///< there is nothing to say
    below_min_replicas,
    backoff_limit_exceeded,
    container_failed,
    creating_pods,
    deadline_exceeded,
    error_in_pod,
    failed,
    failure_rule,
    invalid_spec,
    master_unknown,
    name_conflict,
    no_failure,
    no_progress,
    not_finished,
    not_created,
    not_ready,
    object_refused,
    paused,
    pod_rejected,
    queue_ignored,
    quota_exceeded,
    replica_cannot_start,
    replica_failed,
    replica_lost,
    replicas_accepted,
    replicas_running,
    restart_delay,
    restarting,
    resuming,
    scheduling_gated,
    secret_lost,
    short_grace,
    stalled,
    succeeded,
    trains,
    unschedulable,
    waiting_for_discovery,
    waiting_for_training,
    waiting_for_gang,
    waiting_for_names,
    waiting_for_pod_group,
    waiting_for_quota,
    waiting_for_room,
    waiting_for_workers,
    // Of events alone (BEHAVIOUR.md 11.1).
    admitted,
    cleaned_up,
    created,
    evicted,
    new_replica,
    resumed,
    running,
    scaled,
    spec_changed,
    start,
    status_repaired,
    workers_left_running,
};

/// What made an incident (`restarts.last.cause`).
enum class cause : std::uint8_t {
    pod_disrupted,
    pod_failed,
    pod_rejected,
    pod_vanished,
    secret_lost,
    stalled,
    worker_exited,
    workers_unreachable,
    workers_unreachable_again,
};

/// What a `nextTransition` waits for.
enum class awaited : std::uint8_t {
    clean_up,
    deadline,
    restart_delay,
    settle,
    stuck_pod,
    ttl,
};

/// What a kubelet says of a container or pod and decisions go by; all else that it says is only
/// repeated.
enum class kubelet_reason : std::uint8_t {
    completed,
    deadline_exceeded,
    error,
    evicted,
    out_of_memory,
};

/// A value and its word.
template <class Value>
struct word {
    Value is;
    std::string_view text;
};
// clang 16 has no guides for aggregates.
template <class Value>
word(Value, std::string_view) -> word<Value>;

/// The words of each, in the order of its values.
inline constexpr std::array condition_type_words{
    word{condition_type::initialized, "Initialized"},
    word{condition_type::running, "Running"},
    word{condition_type::replica_failure, "ReplicaFailure"},
    word{condition_type::completed, "Completed"},
    word{condition_type::failed, "Failed"},
    word{condition_type::succeeded, "Succeeded"},
    word{condition_type::paused, "Paused"},
    word{condition_type::stalled, "Stalled"},
};
inline constexpr std::array reason_words{
    word{reason::none, ""},
    word{reason::below_min_replicas, "BelowMinReplicas"},
    word{reason::backoff_limit_exceeded, "BackoffLimitExceeded"},
    word{reason::container_failed, "ContainerFailed"},
    word{reason::creating_pods, "CreatingPods"},
    word{reason::deadline_exceeded, "DeadlineExceeded"},
    word{reason::error_in_pod, "ErrorInPod"},
    word{reason::failed, "Failed"},
    word{reason::failure_rule, "FailureRule"},
    word{reason::invalid_spec, "InvalidSpec"},
    word{reason::master_unknown, "MasterUnknown"},
    word{reason::name_conflict, "NameConflict"},
    word{reason::no_failure, "NoFailure"},
    word{reason::no_progress, "NoProgress"},
    word{reason::not_finished, "NotFinished"},
    word{reason::not_created, "NotCreated"},
    word{reason::not_ready, "NotReady"},
    word{reason::object_refused, "ObjectRefused"},
    word{reason::paused, "Paused"},
    word{reason::pod_rejected, "PodRejected"},
    word{reason::queue_ignored, "QueueIgnored"},
    word{reason::quota_exceeded, "QuotaExceeded"},
    word{reason::replica_cannot_start, "ReplicaCannotStart"},
    word{reason::replica_failed, "ReplicaFailed"},
    word{reason::replica_lost, "ReplicaLost"},
    word{reason::replicas_accepted, "ReplicasAccepted"},
    word{reason::replicas_running, "ReplicasRunning"},
    word{reason::restart_delay, "RestartDelay"},
    word{reason::restarting, "Restarting"},
    word{reason::resuming, "Resuming"},
    word{reason::scheduling_gated, "SchedulingGated"},
    word{reason::secret_lost, "SecretLost"},
    word{reason::short_grace, "ShortGrace"},
    word{reason::stalled, "Stalled"},
    word{reason::succeeded, "Succeeded"},
    word{reason::trains, "Progressing"},
    word{reason::unschedulable, "Unschedulable"},
    word{reason::waiting_for_discovery, "WaitingForDiscovery"},
    word{reason::waiting_for_training, "WaitingForTraining"},
    word{reason::waiting_for_gang, "WaitingForGang"},
    word{reason::waiting_for_names, "WaitingForNames"},
    word{reason::waiting_for_pod_group, "WaitingForPodGroup"},
    word{reason::waiting_for_quota, "WaitingForQuota"},
    word{reason::waiting_for_room, "WaitingForRoom"},
    word{reason::waiting_for_workers, "WaitingForWorkers"},
    word{reason::admitted, "Admitted"},
    word{reason::cleaned_up, "CleanedUp"},
    word{reason::created, "Created"},
    word{reason::evicted, "Evicted"},
    word{reason::new_replica, "NewReplica"},
    word{reason::resumed, "Resumed"},
    word{reason::running, "Running"},
    word{reason::scaled, "Scaled"},
    word{reason::spec_changed, "SpecChanged"},
    word{reason::start, "Start"},
    word{reason::status_repaired, "StatusRepaired"},
    word{reason::workers_left_running, "WorkersLeftRunning"},
};
inline constexpr std::array cause_words{
    word{cause::pod_disrupted, "PodDisrupted"},
    word{cause::pod_failed, "PodFailed"},
    word{cause::pod_rejected, "PodRejected"},
    word{cause::pod_vanished, "PodVanished"},
    word{cause::secret_lost, "SecretLost"},
    word{cause::stalled, "Stalled"},
    word{cause::worker_exited, "WorkerExited"},
    word{cause::workers_unreachable, "WorkersUnreachable"},
    word{cause::workers_unreachable_again, "WorkersUnreachableAgain"},
};
inline constexpr std::array awaited_words{
    word{awaited::clean_up, "CleanUp"},
    word{awaited::deadline, "Deadline"},
    word{awaited::restart_delay, "RestartDelay"},
    word{awaited::settle, "Settle"},
    word{awaited::stuck_pod, "StuckPod"},
    word{awaited::ttl, "TTL"},
};
inline constexpr std::array kubelet_words{
    word{kubelet_reason::completed, "Completed"},
    word{kubelet_reason::deadline_exceeded, "DeadlineExceeded"},
    word{kubelet_reason::error, "Error"},
    word{kubelet_reason::evicted, "Evicted"},
    word{kubelet_reason::out_of_memory, "OOMKilled"},
};

constexpr const auto& word_table(condition_type) {
    return condition_type_words;
}
constexpr const auto& word_table(reason) {
    return reason_words;
}
constexpr const auto& word_table(cause) {
    return cause_words;
}
constexpr const auto& word_table(awaited) {
    return awaited_words;
}
constexpr const auto& word_table(kubelet_reason) {
    return kubelet_words;
}

/// One of the enumerations above.
template <class Value>
concept worded = requires(Value v) {
    word_table(v);
};

/// Each row stands at the place of its value.
template <worded Value>
constexpr bool is_in_order() {
    std::size_t at = 0;
    return std::ranges::all_of(word_table(Value{}), [&](const word<Value>& w) {
        return static_cast<std::size_t>(w.is) == at++;
    });
}
static_assert(is_in_order<condition_type>() && is_in_order<reason>() && is_in_order<cause>());
static_assert(is_in_order<awaited>() && is_in_order<kubelet_reason>());

/// As a status or an event has it. A constant.
template <worded Value>
constexpr std::string_view to_string(Value v) {
    return word_table(v)[static_cast<std::size_t>(v)].text;
}

/// Nothing if the text is none of the words: a status may come from another version, and others
/// have words of their own.
template <worded Value>
constexpr std::optional<Value> parse(std::string_view text) {
    const auto& words = word_table(Value{});
    const auto it = std::ranges::find(words, text, &word<Value>::text);
    return it == words.end() ? std::nullopt : std::optional(it->is);
}

/// Whether a text of a status says this.
template <worded Value>
constexpr bool says(std::string_view text, Value v) {
    return text == to_string(v);
}

}  // namespace signalbox::core::engine
