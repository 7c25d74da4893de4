// SPDX-License-Identifier: Apache-2.0
//
// Tables of what several kinds have: BEHAVIOUR.md api 1. Constant data in a header, so that the
// tables of a kind can contain them without any order of initialization.
#pragma once

#include "api/tables/scheduler_fields.hpp"
#include "api/tables/tables.hpp"

#include <array>
#include <limits>
#include <string_view>

namespace signalbox::core::schema {

inline constexpr std::array<std::string_view, 1> enable_alias{"enable"};

inline constexpr field list_type_field{
    .name = "type",
    .type = value_type::string,
    .doc = "A replica type of the job, or `master`: the deciding pod alone.",
    .required = true,
    .form = &replica_type_form,
};
inline constexpr field skip_init_field{
    .name = "skipInitContainer",
    .type = value_type::boolean,
    .doc = "Leaves out the template's init containers.",
    .fallback = "false",
};

inline constexpr std::array debug_replica_fields{
    list_type_field,
    skip_init_field,
    field{
        .name = "command",
        .type = value_type::string_list,
        .doc = "Replaces the command of the training container; default: the kind's idle command.",
    },
};

inline constexpr std::array resume_replica_fields{
    list_type_field,
    skip_init_field,
    field{
        .name = "command",
        .type = value_type::string_list,
        .doc = "Replaces the command of the training container after a pause.",
    },
    field{
        .name = "args",
        .type = value_type::string_list,
        .doc = "Replaces the arguments of the training container after a pause.",
    },
};

inline constexpr std::array debug_fields{
    field{
        .name = "enabled",
        .type = value_type::boolean,
        .doc = "Prepares everything as for a real run, but starts an idle command.",
        .aliases = enable_alias,
        .fallback = "false",
    },
    field{
        .name = "replicaSpecs",
        .type = value_type::object_list,
        .doc = "What each replica type does in debug mode.",
        .fields = debug_replica_fields,
        .max_items = max_types,
    },
};

inline constexpr std::array pause_fields{
    field{
        .name = "enabled",
        .type = value_type::boolean,
        .doc = "Deletes the pods and keeps the job. May be set and unset at any time.",
        .aliases = enable_alias,
        .fallback = "false",
        .when = change::any_time,
    },
    field{
        .name = "resumeSpecs",
        .type = value_type::object_list,
        .doc = "What is different when a job resumes that has trained before.",
        .fields = resume_replica_fields,
        .max_items = max_types,
        .when = change::never,
        .rule = "behaviour 3.11",
    },
};

inline constexpr std::array run_mode_fields{
    field{
        .name = "debug",
        .type = value_type::object,
        .doc = "Debug mode. Cannot be changed.",
        .fields = debug_fields,
        .when = change::never,
        .rule = "behaviour 3.10",
    },
    field{
        .name = "pause",
        .type = value_type::object,
        .doc = "Pause mode; wins over debug mode.",
        .fields = pause_fields,
        .rule = "behaviour 6.1",
    },
};

inline constexpr std::array clean_up_values{
    enum_value{"All", "all"}, enum_value{"Unfinished", "unfinished"}, enum_value{"None", "none"}};
inline constexpr std::array scope_values{enum_value{"Job"}, enum_value{"Replica"}};
inline constexpr std::array exit_code_operators{enum_value{"In"}, enum_value{"NotIn"}};
inline constexpr std::array condition_status_values{
    enum_value{"True"}, enum_value{"False"}, enum_value{"Unknown"}};
inline constexpr std::array failure_actions{
    enum_value{"Fail"},
    enum_value{"Restart"},
    enum_value{"RestartFree"},
    enum_value{"RestartElsewhere"}};
inline constexpr std::array ending_actions{enum_value{"Fail"}};
inline constexpr std::array stall_actions{enum_value{"Report"}, enum_value{"Restart"}};
inline constexpr std::array avoid_values{enum_value{"Preferred"}, enum_value{"Required"}};
inline constexpr std::array failure_values{enum_value{"AnyReplica"}, enum_value{"Master"}};

inline constexpr field deadline_field{
    .name = "activeDeadlineSeconds",
    .type = value_type::integer,
    .doc = "Seconds from `status.startTime` after which the job fails.",
    .minimum = 1,
    .maximum = std::numeric_limits<std::int64_t>::max(),
    .when = change::any_time,
    .rule = "behaviour 5.12",
};
inline constexpr field ttl_field{
    .name = "ttlSecondsAfterFinished",
    .type = value_type::integer,
    .doc = "Seconds after its end after which the job is deleted.",
    .minimum = 0,
    .when = change::any_time,
    .rule = "behaviour 5.14",
};

inline constexpr std::array exit_code_fields{
    field{
        .name = "containerName",
        .doc = "Whose exit code; default: the training container, by the code of the rank that "
               "failed where that is known.",
        .max_length = 63,
    },
    field{
        .name = "operator",
        .doc = "Whether the code has to be among the values or not.",
        .required = true,
        .values = exit_code_operators,
    },
    field{
        .name = "values",
        .type = value_type::integer_list,
        .doc = "Exit codes. 0 is never `NotIn`.",
        .required = true,
        .minimum = 0,
        .maximum = 255,
        .max_items = 255,
    },
};
inline constexpr std::array pod_condition_fields{
    field{
        .name = "type",
        .doc = "Type of a condition of the pod, such as DisruptionTarget.",
        .required = true,
        .max_length = 316,
    },
    field{
        .name = "status",
        .doc = "Its status.",
        .fallback = "\"True\"",
        .values = condition_status_values,
    },
};
inline constexpr std::array message_fields{
    field{
        .name = "contains",
        .type = value_type::string_list,
        .doc = "Texts of which one has to be in the message, by its letters exactly.",
        .required = true,
        .max_length = 256,
        .max_items = 32,
    },
};

inline constexpr field on_exit_codes_field{
    .name = "onExitCodes",
    .type = value_type::object,
    .doc = "The container ended with one of these codes, or with none of them.",
    .fields = exit_code_fields,
};
inline constexpr field on_conditions_field{
    .name = "onPodConditions",
    .type = value_type::object_list,
    .doc = "The pod has one of these conditions.",
    .fields = pod_condition_fields,
    .max_items = 20,
};
inline constexpr field on_reason_field{
    .name = "onReason",
    .type = value_type::string_list,
    .doc =
        "The reason of the container, of the pod or of its condition DisruptionTarget is one of "
        "these: OOMKilled, Evicted, NodeShutdown, PreemptionByScheduler ...",
    .max_length = 256,
    .max_items = 32,
};
inline constexpr field on_message_field{
    .name = "onMessage",
    .type = value_type::object,
    .doc =
        "The termination message of the training container (the end of its log), or the message "
        "of the pod, has one of these texts.",
    .fields = message_fields,
};

inline constexpr std::array failure_rule_fields{
    field{
        .name = "action",
        .doc = "What follows. `RestartFree` costs no budget; `RestartElsewhere` neither, and later "
               "pods avoid the node.",
        .required = true,
        .values = failure_actions,
    },
    on_exit_codes_field,
    on_conditions_field,
    on_reason_field,
    on_message_field,
};
/// Of a kind that restarts nothing.
inline constexpr std::array ending_rule_fields{
    field{
        .name = "action",
        .doc = "What follows; a job of this kind restarts nothing.",
        .required = true,
        .values = ending_actions,
    },
    on_exit_codes_field,
    on_conditions_field,
    on_reason_field,
    on_message_field,
};

constexpr field failure_rules_field(std::span<const field> fields) {
    return {
        .name = "failureRules",
        .type = value_type::object_list,
        .doc =
            "What follows from which failure; the first rule counts whose requirements all hold.",
        .fields = fields,
        .max_items = 20,
        .when = change::any_time,
        .rule = "behaviour 13.3",
    };
}

inline constexpr std::array avoid_fields{
    field{
        .name = "policy",
        .doc = "Whether pods had rather not, or must not, run there.",
        .fallback = "\"Preferred\"",
        .values = avoid_values,
    },
    field{
        .name = "forSeconds",
        .type = value_type::integer,
        .doc = "How long a node is avoided.",
        .fallback = "86400",
        .minimum = 1,
    },
};

inline constexpr field stall_after_field{
    .name = "stallAfterSeconds",
    .type = value_type::integer,
    .doc =
        "Seconds without progress, of an attempt that runs as a whole and has reported, after "
        "which the job counts as stalled.",
    .fallback = "1800",
    .minimum = 1,
};
inline constexpr field first_report_field{
    .name = "firstReportAfterSeconds",
    .type = value_type::integer,
    .doc =
        "Seconds without any report, of an attempt that runs as a whole; absent: none is needed.",
    .minimum = 1,
};
inline constexpr std::array watch_fields{
    stall_after_field,
    first_report_field,
    field{
        .name = "stallAction",
        .doc = "What follows: the condition and an event alone, or a restart that counts too.",
        .fallback = "\"Report\"",
        .values = stall_actions,
    },
};
/// Of a kind that restarts nothing.
inline constexpr std::array watch_only_fields{stall_after_field, first_report_field};

constexpr field progress_policy_field(std::span<const field> fields) {
    return {
        .name = "progress",
        .type = value_type::object,
        .doc =
            "Its processes report how far they are, where the operator has a receiver. When a job "
            "that runs counts as stalled, by these reports.",
        .fields = fields,
        .when = change::any_time,
        .rule = "behaviour 13.8",
    };
}

inline constexpr std::array run_policy_fields{
    deadline_field,
    field{
        .name = "backoffLimit",
        .type = value_type::integer,
        .doc = "Counted restarts before the job fails; one budget for all replicas.",
        .fallback = "3",
        .minimum = 0,
        .when = change::any_time,
        .rule = "behaviour 5.5",
    },
    field{
        .name = "cleanUpPolicy",
        .type = value_type::string,
        .doc = "Which pods are deleted when the job has ended. One whose sidecar still runs is "
               "unfinished, unless that is an init container with `restartPolicy: Always`.",
        .fallback = "\"Unfinished\"",
        .values = clean_up_values,
        .when = change::any_time,
        .rule = "behaviour 5.13",
    },
    ttl_field,
    field{
        .name = "restartScope",
        .type = value_type::string,
        .doc = "How far a restart reaches; default: by launch mode.",
        .values = scope_values,
        .rule = "behaviour 5.6",
    },
    field{
        .name = "failurePolicy",
        .type = value_type::string,
        .doc = "Whose failure fails the job.",
        .fallback = "\"AnyReplica\"",
        .values = failure_values,
    },
    failure_rules_field(failure_rule_fields),
    field{
        .name = "defaultFailureRules",
        .type = value_type::boolean,
        .doc = "The rules of our own, by which later pods avoid nodes whose devices or links fail.",
        .fallback = "true",
        .when = change::any_time,
        .rule = "behaviour 13.4",
    },
    field{
        .name = "resetBackoffAfterSeconds",
        .type = value_type::integer,
        .doc = "After a run of so long without an incident the budget is whole again.",
        .minimum = 1,
        .when = change::any_time,
        .rule = "behaviour 13.5",
    },
    field{
        .name = "avoidNodes",
        .type = value_type::object,
        .doc = "How nodes are avoided that a rule has found bad.",
        .fields = avoid_fields,
        .when = change::any_time,
        .rule = "behaviour 13.6",
    },
    progress_policy_field(watch_fields),
    field{
        .name = "maxRestartsWithoutProgress",
        .type = value_type::integer,
        .doc = "Restarts without getting further than before after which a failure ends the job. A "
               "job "
               "that reports nothing gets nowhere.",
        .minimum = 0,
        .when = change::any_time,
        .rule = "behaviour 13.9",
    },
};

inline constexpr std::array elastic_fields{
    field{
        .name = "enabled",
        .type = value_type::boolean,
        .doc = "Elastic training. Cannot be changed.",
        .aliases = enable_alias,
        .fallback = "false",
        .when = change::never,
    },
    field{
        .name = "minReplicas",
        .type = value_type::integer,
        .doc = "Fewest replicas to train with. Cannot be changed.",
        .fallback = "1",
        .minimum = 1,
        .maximum = max_replicas,
        .when = change::never,
    },
    field{
        .name = "maxReplicas",
        .type = value_type::integer,
        .doc = "Most replicas to train with; required for elastic training. Cannot be changed.",
        .minimum = 1,
        .maximum = max_replicas,
        .when = change::never,
    },
    field{
        .name = "expectedReplicas",
        .type = value_type::integer,
        .doc = "Replicas to train with now; the scale subresource writes it. While elastic "
               "training is "
               "off: the replicas of all types together, written by the operator.",
        .minimum = 1,
        .maximum = max_replicas,
        .when = change::any_time,
        .rule = "behaviour 7.1",
    },
};

inline constexpr std::array restart_values{
    enum_value{"Always"}, enum_value{"OnFailure"}, enum_value{"Never"}, enum_value{"ExitCode"}};

inline constexpr field scheduler_field{
    .name = "scheduler",
    .type = value_type::object,
    .doc = "Who schedules the pods; absent: the cluster's default scheduler.",
    .fields = scheduler_fields,
    .rule = "api 1.4",
};

inline constexpr field run_mode_field{
    .name = "runMode",
    .type = value_type::object,
    .doc = "Debug and pause.",
    .fields = run_mode_fields,
    .rule = "api 1.5",
};

inline constexpr field run_policy_field{
    .name = "runPolicy",
    .type = value_type::object,
    .doc = "Restart budget, deadline and clean-up.",
    .fields = run_policy_fields,
    .rule = "api 1.6",
};

inline constexpr field elastic_field{
    .name = "elastic",
    .type = value_type::object,
    .doc = "Training with a varying number of replicas.",
    .fields = elastic_fields,
    .rule = "api 1.8",
};

inline constexpr field managed_by_field{
    .name = "managedBy",
    .type = value_type::string,
    .doc = "The controller that runs this job; another one's name makes us ignore it.",
    .fallback = "\"batch.tensorstack.dev/signalbox\"",
    .max_length = 253,
    .when = change::never,
    .rule = "api 1.12",
};

inline constexpr field restart_policy_field{
    .name = "restartPolicy",
    .type = value_type::string,
    .doc = "Which failures of this replica type may restart.",
    .fallback = "\"OnFailure\"",
    .values = restart_values,
    .rule = "api 1.7",
};

inline constexpr field template_field{
    .name = "template",
    .type = value_type::opaque_object,
    .doc = "PodTemplateSpec of this replica type; every field reaches the pod.",
    .required = true,
    .rule = "api 1.10",
    .kubernetes = "pod",
};

/// Of kinds whose workers cannot be none.
inline constexpr field worker_replicas_field{
    .name = "replicas",
    .type = value_type::integer,
    .doc = "Number of pods.",
    .fallback = "1",
    .minimum = 1,
    .maximum = max_replicas,
};

constexpr field spec_field_of(std::span<const field> fields, std::string_view rule) {
    return {
        .name = "spec",
        .type = value_type::object,
        .doc = "What the job is to run.",
        .fields = fields,
        .required = true,
        .rule = rule,
    };
}

}  // namespace signalbox::core::schema
