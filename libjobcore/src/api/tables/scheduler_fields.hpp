// SPDX-License-Identifier: Apache-2.0
//
// Tables of what a job asks of a scheduler of gangs: BEHAVIOUR.md api 1.4.
#pragma once

#include "api/tables/tables.hpp"

#include <array>
#include <string_view>

namespace signalbox::core::schema {

inline constexpr std::array<std::string_view, 1> queue_alias{"Queue"};

inline constexpr std::array t9k_scheduler_fields{
    field{
        .name = "queue",
        .type = value_type::string,
        .doc = "Queue of the scheduler; empty means `default`.",
        .aliases = queue_alias,
        .fallback = "\"default\"",
        .form = &label_value_form,
        .max_length = 63,
    },
    field{
        .name = "priority",
        .type = value_type::integer,
        .doc = "Priority in the queue.",
        .fallback = "10",
        .minimum = 0,
        .maximum = 100,
    },
};

inline constexpr std::array disruption_values{enum_value{"All"}, enum_value{"Single"}};
inline constexpr field priority_class_field{
    .name = "priorityClassName",
    .type = value_type::string,
    .doc = "PriorityClass of the PodGroup.",
    .form = &object_name_form,
    .max_length = 253,
};
inline constexpr field kubernetes_priority_field{
    .name = priority_class_field.name,
    .type = priority_class_field.type,
    .doc =
        "PriorityClass of the PodGroup and of its pods, which have one and the same; default: that "
        "of the templates.",
    .form = priority_class_field.form,
    .max_length = priority_class_field.max_length,
};
inline constexpr std::array kubernetes_scheduler_fields{
    kubernetes_priority_field,
    field{
        .name = "topologyKey",
        .type = value_type::string,
        .doc = "Label of nodes that is to be the same for all pods: of a rack, say.",
        .form = &label_key_form,
        .max_length = 317,
    },
    field{
        .name = "disruptionMode",
        .type = value_type::string,
        .doc = "What goes with a pod that is preempted: `All` of the gang, or the `Single` pod.",
        .fallback = "\"All\"",
        .values = disruption_values,
    },
};

inline constexpr std::array kueue_fields{
    field{
        .name = "queueName",
        .type = value_type::string,
        .doc = "The LocalQueue of the job's namespace; default: what the job's label "
               "kueue.x-k8s.io/queue-name says.",
        .form = &object_name_form,
        .max_length = 253,
    },
    field{
        .name = "workloadPriorityClassName",
        .type = value_type::string,
        .doc = "WorkloadPriorityClass of the Workload.",
        .form = &object_name_form,
        .max_length = 253,
    },
};

inline constexpr std::array coscheduling_fields{
    field{
        .name = "timeoutSeconds",
        .type = value_type::integer,
        .doc = "How long placed pods wait for the others; default: that of the plugin.",
        .minimum = 1,
    },
};

inline constexpr std::array volcano_fields{
    field{
        .name = "queue",
        .type = value_type::string,
        .doc = "Queue of the PodGroup; default: that of Volcano.",
        .form = &object_name_form,
        .max_length = 253,
    },
    priority_class_field,
};

inline constexpr std::array scheduler_fields{
    field{
        .name = "t9kScheduler",
        .type = value_type::object,
        .doc = "Gang scheduling by the T9k scheduler.",
        .fields = t9k_scheduler_fields,
        .presence_counts = true,
    },
    field{
        .name = "kubernetes",
        .type = value_type::object,
        .doc = "Gang scheduling by the scheduler of Kubernetes itself, from 1.37.",
        .fields = kubernetes_scheduler_fields,
        .presence_counts = true,
        .rule = "behaviour 8.7",
    },
    field{
        .name = "kueue",
        .type = value_type::object,
        .doc = "Quota by Kueue: pods are made once the job is admitted.",
        .fields = kueue_fields,
        .presence_counts = true,
        .rule = "behaviour 8.10",
    },
    field{
        .name = "coscheduling",
        .type = value_type::object,
        .doc = "Gang scheduling by the coscheduling plugin.",
        .fields = coscheduling_fields,
        .presence_counts = true,
        .rule = "behaviour 8.8",
    },
    field{
        .name = "koordinator",
        .type = value_type::object,
        .doc = "Gang scheduling by Koordinator.",
        .presence_counts = true,
        .rule = "behaviour 8.8",
    },
    field{
        .name = "volcano",
        .type = value_type::object,
        .doc = "Gang scheduling by Volcano; made by its types, and not tried with Volcano itself.",
        .fields = volcano_fields,
        .presence_counts = true,
        .rule = "behaviour 8.8",
    },
    field{
        .name = "auto",
        .type = value_type::object,
        .doc = "The first of these that the server serves and that takes the job, when the job "
               "begins: `t9kScheduler`, `kubernetes`, `volcano`; else the cluster's default "
               "scheduler.",
        .presence_counts = true,
        .rule = "behaviour 8.15",
    },
};

}  // namespace signalbox::core::schema
