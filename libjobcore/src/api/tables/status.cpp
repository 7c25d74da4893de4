// SPDX-License-Identifier: Apache-2.0
//
// The status of all kinds: BEHAVIOUR.md api 5. It is written by the operator alone; hence no
// aliases, defaults or bounds, which would only make a good status be refused.
#include "api/tables/specs.hpp"
#include "api/tables/tables.hpp"

#include <array>
#include <limits>

namespace signalbox::core::schema {
namespace {

constexpr field text(std::string_view name, std::string_view doc) {
    return {.name = name, .doc = doc, .max_length = 0};
}

constexpr field int32(std::string_view name, std::string_view doc) {
    return {.name = name, .type = value_type::integer, .doc = doc};
}

constexpr field int64(std::string_view name, std::string_view doc) {
    return {
        .name = name,
        .type = value_type::integer,
        .doc = doc,
        .maximum = std::numeric_limits<std::int64_t>::max()};
}

constexpr field flag(std::string_view name, std::string_view doc) {
    return {.name = name, .type = value_type::boolean, .doc = doc};
}

constexpr field time(std::string_view name, std::string_view doc) {
    return {.name = name, .type = value_type::time, .doc = doc};
}

constexpr field object(std::string_view name, std::string_view doc, std::span<const field> fields) {
    return {.name = name, .type = value_type::object, .doc = doc, .fields = fields};
}

constexpr field list(std::string_view name, std::string_view doc, std::span<const field> fields) {
    return {
        .name = name,
        .type = value_type::object_list,
        .doc = doc,
        .fields = fields,
        .max_items = 0};
}

constexpr field under(std::string_view rule, field row) {
    row.rule = rule;
    return row;
}

constexpr field of_time(field row) {
    row.tells_of_time = true;
    return row;
}

constexpr std::array condition_fields{
    text(
        "type",
        "Initialized, Running, ReplicaFailure, Completed, Failed, Succeeded, Paused or Stalled."
    ),
    text("status", "True or False."),
    text("reason", "Why, in one word."),
    text("message", "Why, for people."),
    time("lastTransitionTime", "When `status` changed last."),
};

constexpr std::array container_status_fields{
    text("name", "Name of the container."),
    text("state", "Waiting, Running, Terminated or Unknown."),
    int32("exitCode", "Only with Terminated."),
};

constexpr std::array replica_status_fields{
    text("name", "Name of the pod."),
    text("uid", "UID of the pod."),
    text("phase", "Phase of the pod, or Creating, Deleted."),
    list("containers", "Regular containers in the order of the template.", container_status_fields),
};

constexpr std::array task_fields{
    text("type", "The replica type."),
    int32("restartCount", "Counted incidents in which a pod of this type failed."),
    int32("wanted", "Replicas in force."),
    list("replicas", "The pods; at most 256 in all.", replica_status_fields),
};

constexpr std::array aggregate_fields{
    int32("creating", "Not yet on a node."),
    int32("pending", "On a node, not running yet."),
    int32("running", "Running."),
    int32("succeeded", "Ended with exit code 0."),
    int32("failed", "Ended otherwise."),
    int32("unknown", "Of unknown phase."),
    int32("deleted", "Deleted or being deleted."),
};

constexpr std::array transition_fields{
    time("time", "When."),
    text("reason", "What is waited for."),
};

constexpr std::array indexes_fields{
    text("type", "The replica type."),
    text("indexes", "Indexes as ranges: 0-3,7."),
};

constexpr std::array incident_pod_fields{
    text("name", "Name of the pod."),
    text("uid", "UID of the pod."),
    int32("exitCode", "Exit code of the training container."),
    text("reason", "Why the pod ended."),
};

constexpr field message_field =
    under("behaviour 3.13", text("message", "The failure that is named as the cause."));
constexpr field consequence_field = under(
    "behaviour 3.13",
    flag("consequence", "The message tells only what follows from the end of another process.")
);

constexpr field rule_field =
    under("behaviour 13.3", text("rule", "The failure rule that it went by."));

constexpr std::array incident_fields{
    time("time", "Latest end among its pods."),
    text("cause", "What happened."),
    text("reason", "What it means for the job."),
    text("scope", "Job or Replica."),
    flag("counted", "Whether it counts towards `backoffLimit`."),
    int32("attempt", "The attempt after the incident."),
    time("notBefore", "No new pod earlier than this."),
    flag("pending", "Of older versions: it is what `settling` is."),
    list("pods", "The pods that were lost; at most 16.", incident_pod_fields),
    int32("more", "How many more were lost."),
    message_field,
    consequence_field,
    rule_field,
};

constexpr std::array settling_fields{
    time("time", "The first of the ends."),
    text("cause", "What happened."),
    text("reason", "What it means for the job."),
    list("pods", "The pods that ended; at most 16.", incident_pod_fields),
    int32("more", "How many more ended."),
    message_field,
    consequence_field,
};

constexpr std::array replaced_fields{
    text("type", "The replica type."),
    int32("index", "The index."),
    int32("round", "How often it was replaced in this attempt."),
};

constexpr std::array renamed_fields{
    text("type", "The replica type."),
    int32("index", "The index."),
    int32("k", "Number in the suffix of the pod's name."),
};

constexpr std::array restarts_fields{
    int32("disruptions", "Incidents that were not counted."),
    list("seen", "Indexes whose pod of this attempt and round was seen.", indexes_fields),
    int32("freeStreak", "Uncounted incidents in a row with a short-lived pod."),
    list("givenUp", "Indexes that failed for good in this attempt.", indexes_fields),
    int32("streak", "Counted incidents since the job was last healthy."),
    object("last", "The last incident.", incident_fields),
    object("settling", "Exits whose peers get time to follow.", settling_fields),
    list("replaced", "Indexes replaced alone in this attempt.", replaced_fields),
    list("renamed", "Pod names with a suffix that are in use.", renamed_fields),
    int32("renames", "How many such names there were."),
    list("completed", "Indexes that ended with exit code 0 in this attempt.", indexes_fields),
    int32("forgiven", "Counted incidents that a long run has given back to the budget."),
    int64("furthestStep", "The furthest step at the last restart, where restarts go by progress."),
    int32("withoutProgress", "Restarts since that step was first reached."),
};

constexpr std::array dependent_fields{
    text("apiVersion", "Its API version."),
    text("kind", "Its kind."),
    text("name", "Its name."),
    text("namespace", "Its namespace."),
    text("uid", "Its UID."),
};

constexpr std::array board_fields{
    text("name", "Name of the TensorBoard."),
    object("dependent", "The object that runs it.", dependent_fields),
    flag("ready", "Whether it can be opened."),
    text("reason", "Why it is not ready."),
    text("action", "What the operator last did to it."),
    text("note", "For people."),
    text("type", "What kind of dependent it is."),
};

constexpr std::array attempt_fields{
    int32("attempt", "Its number."),
    time("startTime", "When it began."),
    time("endTime", "When it ended."),
    text(
        "reason",
        "Why it ended: the cause of the incident, the reason of the job's end, Paused, "
        "Scaled or SpecChanged."
    ),
    text("message", "Why, for people; at most 256 bytes."),
    text("pod", "The pod whose failure ended it."),
    text("node", "The node of that pod."),
    int32("rank", "The rank that failed, where it is known."),
    int64("step", "The last step that it reported."),
};

constexpr std::array time_states{
    enum_value{"Queued"},
    enum_value{"Starting"},
    enum_value{"Running"},
    enum_value{"Restarting"},
    enum_value{"Stalled"},
    enum_value{"Paused"},
};

constexpr std::array time_fields{
    int32("queued", "Waiting for room, quota, a scheduler or an admission."),
    int32("starting", "Making the pods of an attempt that no incident made."),
    int32("running", "Training as a whole."),
    int32("restarting", "From an incident until the job trained as a whole again."),
    int32("stalled", "Its pods ran, and it made no progress."),
    int32("paused", "Paused."),
    int32("lost", "It trained, and no checkpoint holds what it did."),
    int32("unsaved", "Of `running`, what no checkpoint of the attempt holds yet."),
    int32(
        "recoverable",
        "Of `lost`, what a checkpoint saves that the attempt which lost it still writes."
    ),
    field{
        .name = "state",
        .doc = "What the time since `since` is spent on; absent once the job has ended.",
        .values = time_states,
    },
    time("since", "Until when the seconds are booked."),
};

constexpr std::array metric_fields{
    text("name", "Its name."),
    text("value", "A number, as it was reported."),
};

constexpr std::array slowest_fields{
    int32("rank", "The rank."),
    int64("step", "How far it has come."),
    int64("behind", "Steps between it and the first."),
    time("time", "When it came there."),
};

constexpr std::array point_fields{
    time("time", "When it was reported."),
    int64("step", "The step that training was at."),
    text("loss", "The metric of that name, where it was reported."),
};

constexpr std::array progress_fields{
    int64("currentStep", "The step that training is at."),
    int64("totalSteps", "How many there are."),
    int32("progressPercentage", "How much of it is done."),
    int64("estimatedRemainingSeconds", "How long it takes from `lastUpdatedTime` on."),
    time("lastUpdatedTime", "When the last report came."),
    time("lastProgressTime", "When the last one came that told of progress."),
    int32("rank", "Whose report it was."),
    int32("attempt", "Of which attempt."),
    list("metrics", "What else was reported; at most 16.", metric_fields),
    int64("checkpointStep", "The step of the last checkpoint that was reported."),
    time("checkpointTime", "When that was reported."),
    int64("checkpointSeconds", "How long writing it took, where that was reported."),
    of_time(object(
        "slowest", "The rank that is furthest behind, where more than one reports.", slowest_fields
    )),
    list("course", "How training came there, over all attempts; at most 32 points.", point_fields),
};

constexpr std::array named_value_fields{
    text("name", "Its name."),
    text("value", "Its value."),
};

constexpr std::array toleration_fields{
    text("key", "The taint."),
    text("operator", "Exists or Equal."),
    text("value", "Value of the taint."),
    text("effect", "What of the taint is tolerated; absent: all."),
    int64("tolerationSeconds", "For how long."),
};

constexpr std::array admitted_type_fields{
    text("type", "The replica type."),
    int32("count", "Pods that may run."),
    int32("asked", "Pods that were asked for."),
    list("nodeSelector", "What pods get: labels of the flavours' nodes.", named_value_fields),
    list("labels", "What pods get by admission checks.", named_value_fields),
    list("annotations", "What pods get by admission checks.", named_value_fields),
    list("tolerations", "What pods get: tolerations of the flavours.", toleration_fields),
};

constexpr std::array admission_fields{
    text("uid", "UID of the Workload that was admitted."),
    text("time", "When its quota was reserved."),
    list("types", "What was admitted, by replica type.", admitted_type_fields),
};

constexpr std::array avoided_fields{
    text("node", "Name of the node."),
    text("rule", "The failure rule that found it bad."),
    time("time", "When it was found bad last."),
    int32("count", "How often it was."),
};

constexpr std::array phases{
    enum_value{"Pending"},
    enum_value{"Running"},
    enum_value{"Paused"},
    enum_value{"Resuming"},
    enum_value{"Succeeded"},
    enum_value{"Failed"},
    enum_value{"Unknown"},
};

constexpr field phase_field{
    .name = "phase",
    .doc = "Where the job is in its life.",
    .values = phases,
    .rule = "behaviour 4",
};
constexpr field generation_field{
    .name = "observedGeneration",
    .type = value_type::integer,
    .doc = "Generation of the specification that this status is about.",
    .maximum = std::numeric_limits<std::int64_t>::max(),
};
constexpr field reason_field =
    under("behaviour 4.14", text("reason", "Why the job is in its phase, in one word."));
constexpr field conditions_field = under(
    "behaviour 4.13", list("conditions", "What holds of the job and since when.", condition_fields)
);
constexpr field tasks_field =
    under("api 5.2", list("tasks", "The pods by replica type.", task_fields));
constexpr field aggregate_field = under(
    "behaviour 4.15",
    object("aggregate", "Pods by state; the sum is the wanted number.", aggregate_fields)
);
constexpr field start_field =
    time("startTime", "When the job started; the deadline counts from here.");
constexpr field completion_field = time("completionTime", "When the job ended.");
constexpr field duration_field = of_time(text("duration", "How long the job took."));
constexpr field ready_field =
    text("ready", "Replicas that run, or at the end ended well, of those wanted: 3/4.");
constexpr field replicas_field =
    under("behaviour 7.5", int32("replicas", "Pods that run or will; for the scale subresource."));
constexpr field selector_field =
    under("behaviour 7.5", text("selector", "Selects the pods; for the scale subresource."));
constexpr field transition_field = under(
    "api 5.5",
    of_time(object("nextTransition", "What the operator waits for on a clock.", transition_fields))
);
constexpr field attempt_field =
    under("api 5.4", int32("attempt", "How often the whole set of pods was made."));
constexpr std::array training_states{
    enum_value{"NotStarted"}, enum_value{"Started"}, enum_value{"Resumed"}};
constexpr field training_field{
    .name = "training",
    .doc = "How far training has come over all attempts; `Resumed`: `resumeSpecs` act.",
    .values = training_states,
    .rule = "behaviour 3.11",
};
constexpr field restarts_field =
    under("api 5.4", object("restarts", "The memory of incidents.", restarts_fields));
constexpr field told_field = under(
    "behaviour 11.2",
    {.name = "told",
     .type = value_type::string_list,
     .doc = "Reasons of lasting facts that an event has told.",
     .max_length = 0,
     .max_items = 0}
);
constexpr field history_field = under(
    "behaviour 13.2",
    list("attemptHistory", "The last ten attempts that have ended.", attempt_fields)
);
constexpr field attempt_start_field =
    under("behaviour 13.2", time("attemptStartTime", "When the present attempt began."));
constexpr field time_field = under(
    "behaviour 13.1",
    of_time(object(
        "timeSeconds", "Where the time went, from the creation of the job to `since`.", time_fields
    ))
);
constexpr field avoided_field = under(
    "behaviour 13.6",
    list("avoidedNodes", "Nodes that later pods avoid; at most 16.", avoided_fields)
);
constexpr field progress_field = under(
    "behaviour 13.7", object("progress", "How far training has come, by reports.", progress_fields)
);
constexpr field admission_field = under(
    "behaviour 8.12",
    object("admission", "What Kueue has admitted, as long as that lasts.", admission_fields)
);
constexpr field queue_field = under(
    "behaviour 8.10",
    text("queue", "What the label kueue.x-k8s.io/queue-name said when the job began.")
);
constexpr field chosen_field = under(
    "behaviour 8.15",
    text(
        "scheduler",
        "The scheduler that was chosen for a job that leaves it open; `none`: the cluster's "
        "default "
        "scheduler; `auto`: not yet."
    )
);
constexpr field backoff_field = under("api 5.4", int32("backoffCount", "Counted incidents."));

constexpr std::array colossalai_status{
    phase_field,      reason_field,   conditions_field, tasks_field,         aggregate_field,
    generation_field, start_field,    completion_field, duration_field,      ready_field,
    replicas_field,   selector_field, transition_field, attempt_field,       training_field,
    restarts_field,   told_field,     history_field,    attempt_start_field, time_field,
    avoided_field,    progress_field, admission_field,  queue_field,         chosen_field,
};

constexpr std::array deepspeed_status{
    phase_field,      reason_field,   conditions_field, tasks_field,         aggregate_field,
    generation_field, start_field,    completion_field, duration_field,      ready_field,
    replicas_field,   selector_field, transition_field, attempt_field,       training_field,
    restarts_field,   told_field,     history_field,    attempt_start_field, time_field,
    avoided_field,    progress_field, admission_field,  queue_field,         chosen_field,
    backoff_field,
};

constexpr std::array pytorch_status{
    phase_field,
    reason_field,
    conditions_field,
    tasks_field,
    aggregate_field,
    generation_field,
    start_field,
    completion_field,
    duration_field,
    ready_field,
    replicas_field,
    selector_field,
    transition_field,
    attempt_field,
    training_field,
    restarts_field,
    told_field,
    history_field,
    attempt_start_field,
    time_field,
    avoided_field,
    progress_field,
    admission_field,
    queue_field,
    chosen_field,
    backoff_field,
    under("behaviour 9.2", object("tensorboard", "The TensorBoard of the job.", board_fields)),
};

constexpr field status_of(std::span<const field> fields) {
    return under(
        "api 5",
        object("status", "What the operator observed and did. Written by it alone.", fields)
    );
}

}  // namespace

constexpr field pytorch_status_field = status_of(pytorch_status);
constexpr field deepspeed_status_field = status_of(deepspeed_status);
constexpr field colossalai_status_field = status_of(colossalai_status);

}  // namespace signalbox::core::schema
