// SPDX-License-Identifier: Apache-2.0
#include "explain/tables.hpp"

#include <array>

namespace signalbox::core::explaining {
namespace {

using engine::awaited;
using engine::cause;
using engine::reason;

constexpr std::array phases{
    meaning{
        reason::below_min_replicas,
        "Fewer replicas run than spec.elastic.minReplicas asks for; training goes on when there "
        "are enough again",
        "behaviour 4.10"},
    meaning{
        reason::backoff_limit_exceeded,
        "A replica failed and its restart policy would have let the job try again, but "
        "spec.runPolicy.backoffLimit is used up",
        "behaviour 5.10",
        true},
    meaning{
        reason::container_failed,
        "A container beside one that trains has failed; it is not started again, and training goes "
        "on",
        "api 1.13"},
    meaning{reason::creating_pods, "Its pods are being created and started", "behaviour 4.12"},
    meaning{
        reason::deadline_exceeded,
        "It was not done within spec.runPolicy.activeDeadlineSeconds of its start",
        "behaviour 5.12"},
    meaning{
        reason::error_in_pod,
        "A replica failed in a way that is not restarted",
        "behaviour 5.10",
        true},
    meaning{
        reason::failure_rule,
        "A replica failed, and a rule of spec.runPolicy.failureRules says that the job ends then",
        "behaviour 13.3",
        true},
    meaning{
        reason::invalid_spec,
        "The specification has errors; until they are corrected no pod and no other object is made "
        "or changed",
        "behaviour 4.2"},
    meaning{
        reason::master_unknown,
        "The node of the deciding pod does not answer, so that no one knows what the pod does",
        "behaviour 4.8"},
    meaning{
        reason::name_conflict,
        "An object that belongs to somebody else has a name that this job needs; it is neither "
        "taken over nor changed",
        "behaviour 1.8",
        true},
    meaning{
        reason::no_progress,
        "It was restarted as often as spec.runPolicy.maxRestartsWithoutProgress allows, and came "
        "no "
        "further",
        "behaviour 13.9",
        true},
    meaning{
        reason::object_refused,
        "The API server refuses an object that the pods need",
        "behaviour 2.1",
        true},
    meaning{reason::paused, "spec.runMode.pause.enabled is true", "behaviour 6.1"},
    meaning{
        reason::pod_rejected,
        "The API server refused a pod for good, before the job ever had one",
        "behaviour 2.8",
        true},
    meaning{
        reason::queue_ignored,
        "The label that names its queue was changed, which counts from the next pause on",
        "behaviour 8.10"},
    meaning{
        reason::quota_exceeded,
        "The quota of the namespace leaves no room for its pods; none is created until it does",
        "behaviour 2.8",
        true},
    meaning{
        reason::replica_lost,
        "The launcher had started, and a job of this kind cannot go on without one of its pods",
        "behaviour 5.11",
        true},
    meaning{
        reason::restart_delay,
        "The job failed more than once in a row, so that it waits before its new pods",
        "behaviour 5.8"},
    meaning{
        reason::restarting,
        "All pods are being replaced after a failure or a disruption",
        "behaviour 4.7"},
    meaning{
        reason::scheduling_gated,
        "Somebody holds its pods back from the scheduler by spec.schedulingGates, and has to take "
        "the gates away",
        "behaviour 4.12"},
    meaning{
        reason::secret_lost,
        "The Secret with the ssh keys was deleted; the running pods do not need it any more, and "
        "it is made again with the next attempt",
        "behaviour 2.6"},
    meaning{
        reason::short_grace,
        "Its pods have less time to end than its last checkpoint took",
        "behaviour 13.13",
        true},
    meaning{reason::stalled, "Its pods run, and it makes no progress", "behaviour 13.8", true},
    meaning{reason::succeeded, "The deciding replica exited with 0", "behaviour 5.1"},
    meaning{
        reason::unschedulable,
        "The scheduler finds no node for some of its pods",
        "behaviour 4.12"},
    meaning{
        reason::waiting_for_gang,
        "Its scheduler has not yet let all of its pods start together",
        "behaviour 8.5",
        true},
    meaning{
        reason::waiting_for_names,
        "Older pods or objects are still being deleted, and new ones take their names",
        "behaviour 5.7"},
    meaning{
        reason::waiting_for_pod_group,
        "The API server does not serve what its scheduler places pods by, or that is not known "
        "yet; "
        "without it no pod is created",
        "behaviour 8.4"},
    meaning{
        reason::waiting_for_quota,
        "Kueue has not admitted it, or has taken the admission back; without quota no pod is "
        "created",
        "behaviour 8.11",
        true},
    meaning{
        reason::waiting_for_room,
        "The other jobs of the namespace that have begun or came before take all that the operator "
        "allows them together; without room no pod is created",
        "behaviour 2.12"},
    meaning{
        reason::waiting_for_workers,
        "The launcher is created when every worker is Ready, and not before",
        "behaviour 2.3"},
};

constexpr std::array causes{
    meaning{
        cause::pod_disrupted, "had been deleted, drained or evicted from outside", "behaviour 5.4"},
    meaning{cause::pod_failed, "failed", "behaviour 5.5"},
    meaning{cause::pod_rejected, "had been refused by the API server", "behaviour 2.8"},
    meaning{cause::pod_vanished, "had gone without a trace", "behaviour 5.4"},
    meaning{
        cause::secret_lost,
        "the Secret with the ssh keys was deleted before every pod had started",
        "behaviour 2.6"},
    meaning{cause::stalled, "it made no progress while its pods ran", "behaviour 13.8"},
    meaning{
        cause::worker_exited, "ended, though workers are to run until the end", "behaviour 5.2"},
    meaning{
        cause::workers_unreachable,
        "gave up, because the workers could not be reached in time",
        "behaviour 5.4"},
    meaning{
        cause::workers_unreachable_again,
        "gave up a second time, because the workers could not be reached in time; a third time "
        "would count",
        "behaviour 5.4"},
};

constexpr std::array transitions{
    meaning{
        awaited::clean_up,
        "clean-up stops waiting for the other pods to end by themselves",
        "behaviour 5.1"},
    meaning{
        awaited::deadline,
        "the deadline passes: the job fails with DeadlineExceeded and its pods are deleted",
        "behaviour 5.12"},
    meaning{
        awaited::restart_delay, "the delay is over and new pods may be created", "behaviour 5.8"},
    meaning{awaited::settle, "all that failed until then counts as one incident", "behaviour 5.6"},
    meaning{
        awaited::stuck_pod,
        "a pod that is then still being deleted counts as stuck, and its successor gets a name of "
        "its own",
        "behaviour 1.3"},
    meaning{awaited::ttl, "the job is deleted, with all that belongs to it", "behaviour 5.14"},
};

}  // namespace

std::span<const meaning<reason>> phase_meanings() {
    return phases;
}

std::span<const meaning<cause>> cause_meanings() {
    return causes;
}

std::span<const meaning<awaited>> transition_meanings() {
    return transitions;
}

}  // namespace signalbox::core::explaining
