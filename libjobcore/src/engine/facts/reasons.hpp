// SPDX-License-Identifier: Apache-2.0
//
// Every reason, cause and condition type the engine writes, in one table, so that code, tests,
// events and documents agree (BEHAVIOUR.md 4.14).
#pragma once

#include <string_view>

namespace signalbox::core::engine {

namespace condition_type {
inline constexpr std::string_view initialized = "Initialized";
inline constexpr std::string_view running = "Running";
inline constexpr std::string_view replica_failure = "ReplicaFailure";
inline constexpr std::string_view completed = "Completed";
inline constexpr std::string_view failed = "Failed";
inline constexpr std::string_view succeeded = "Succeeded";
inline constexpr std::string_view paused = "Paused";
}  // namespace condition_type

/// Reasons of phases and conditions.
namespace reason {
inline constexpr std::string_view below_min_replicas = "BelowMinReplicas";
inline constexpr std::string_view backoff_limit_exceeded = "BackoffLimitExceeded";
inline constexpr std::string_view container_failed = "ContainerFailed";
inline constexpr std::string_view creating_pods = "CreatingPods";
inline constexpr std::string_view deadline_exceeded = "DeadlineExceeded";
inline constexpr std::string_view error_in_pod = "ErrorInPod";
inline constexpr std::string_view failed = "Failed";
inline constexpr std::string_view invalid_spec = "InvalidSpec";
inline constexpr std::string_view master_unknown = "MasterUnknown";
inline constexpr std::string_view name_conflict = "NameConflict";
inline constexpr std::string_view no_failure = "NoFailure";
inline constexpr std::string_view not_finished = "NotFinished";
inline constexpr std::string_view not_created = "NotCreated";
inline constexpr std::string_view not_ready = "NotReady";
inline constexpr std::string_view object_refused = "ObjectRefused";
inline constexpr std::string_view paused = "Paused";
inline constexpr std::string_view pod_rejected = "PodRejected";
inline constexpr std::string_view quota_exceeded = "QuotaExceeded";
inline constexpr std::string_view replica_cannot_start = "ReplicaCannotStart";
inline constexpr std::string_view replica_failed = "ReplicaFailed";
inline constexpr std::string_view replica_lost = "ReplicaLost";
inline constexpr std::string_view replicas_accepted = "ReplicasAccepted";
inline constexpr std::string_view replicas_running = "ReplicasRunning";
inline constexpr std::string_view restart_delay = "RestartDelay";
inline constexpr std::string_view restarting = "Restarting";
inline constexpr std::string_view resuming = "Resuming";
inline constexpr std::string_view scheduling_gated = "SchedulingGated";
inline constexpr std::string_view secret_lost = "SecretLost";
inline constexpr std::string_view succeeded = "Succeeded";
inline constexpr std::string_view unschedulable = "Unschedulable";
inline constexpr std::string_view waiting_for_discovery = "WaitingForDiscovery";
inline constexpr std::string_view waiting_for_training = "WaitingForTraining";
inline constexpr std::string_view waiting_for_gang = "WaitingForGang";
inline constexpr std::string_view waiting_for_names = "WaitingForNames";
inline constexpr std::string_view waiting_for_pod_group = "WaitingForPodGroup";
inline constexpr std::string_view waiting_for_workers = "WaitingForWorkers";
}  // namespace reason

/// What made an incident (`restarts.last.cause`).
namespace cause {
inline constexpr std::string_view pod_disrupted = "PodDisrupted";
inline constexpr std::string_view pod_failed = "PodFailed";
inline constexpr std::string_view pod_rejected = "PodRejected";
inline constexpr std::string_view pod_vanished = "PodVanished";
inline constexpr std::string_view secret_lost = "SecretLost";
inline constexpr std::string_view worker_exited = "WorkerExited";
inline constexpr std::string_view workers_unreachable = "WorkersUnreachable";
inline constexpr std::string_view workers_unreachable_again = "WorkersUnreachableAgain";
}  // namespace cause

/// What a `nextTransition` waits for.
namespace awaited {
inline constexpr std::string_view clean_up = "CleanUp";
inline constexpr std::string_view deadline = "Deadline";
inline constexpr std::string_view restart_delay = "RestartDelay";
inline constexpr std::string_view settle = "Settle";
inline constexpr std::string_view stuck_pod = "StuckPod";
inline constexpr std::string_view ttl = "TTL";
}  // namespace awaited

/// Events that are not named like a reason above (BEHAVIOUR.md 11.1).
namespace event_reason {
inline constexpr std::string_view cleaned_up = "CleanedUp";
inline constexpr std::string_view created = "Created";
inline constexpr std::string_view new_replica = "NewReplica";
inline constexpr std::string_view resumed = "Resumed";
inline constexpr std::string_view running = "Running";
inline constexpr std::string_view scaled = "Scaled";
inline constexpr std::string_view spec_changed = "SpecChanged";
inline constexpr std::string_view start = "Start";
inline constexpr std::string_view status_repaired = "StatusRepaired";
inline constexpr std::string_view workers_left_running = "WorkersLeftRunning";
}  // namespace event_reason

}  // namespace signalbox::core::engine
