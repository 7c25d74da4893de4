// SPDX-License-Identifier: Apache-2.0
//
// PyTorchTrainingJob: BEHAVIOUR.md api 3; `tensorboardSpec`: BEHAVIOUR.md api 1.9.
#include "api/tables/shared.hpp"
#include "api/tables/specs.hpp"

#include <array>

namespace signalbox::core::schema {
namespace {

constexpr std::array pvc_fields{
    field{.name = "name", .doc = "Name of the claim.", .required = true, .max_length = 253},
    field{.name = "subPath", .type = value_type::string_list, .doc = "Paths in the volume."},
};

constexpr std::array secret_ref_fields{
    field{.name = "name", .doc = "Name of the Secret.", .required = true, .max_length = 253},
};

constexpr std::array s3_fields{
    field{
        .name = "secretRef",
        .type = value_type::object,
        .doc = "The Secret with the S3 credentials.",
        .fields = secret_ref_fields,
    },
    field{.name = "uri", .type = value_type::string_list, .doc = "S3 URIs of the logs."},
};

constexpr std::array http_fields{
    field{.name = "url", .type = value_type::string_list, .doc = "URLs of the logs."},
};

constexpr std::array log_dir_fields{
    field{
        .name = "pvc",
        .type = value_type::object_list,
        .doc = "Logs on persistent volumes.",
        .fields = pvc_fields,
        .max_items = 32,
    },
    field{
        .name = "s3",
        .type = value_type::object,
        .doc = "Logs in an object store.",
        .fields = s3_fields,
    },
    field{
        .name = "http",
        .type = value_type::object,
        .doc = "Logs behind HTTP.",
        .fields = http_fields,
    },
};

constexpr std::array board_queue_fields{
    field{.name = "queue", .doc = "Queue of the TensorBoard's pod.", .max_length = 253},
};

constexpr std::array board_scheduler_fields{
    field{
        .name = "t9kScheduler",
        .type = value_type::object,
        .doc = "The T9k scheduler.",
        .fields = board_queue_fields,
    },
};

constexpr std::array tensorboard_fields{
    field{.name = "image", .doc = "Image that contains `tensorboard`."},
    field{
        .name = "trainingLogFilesets",
        .type = value_type::string_list,
        .doc = "Where the logs are: t9k://pvc/<pvc>/<path>, t9k://minio/<secret>/<bucket>/<path>.",
        .form = &fileset_form,
    },
    field{
        .name = "logDir",
        .type = value_type::object,
        .doc = "Where the logs are, in the newer form.",
        .fields = log_dir_fields,
    },
    field{
        .name = "resources",
        .type = value_type::opaque_object,
        .doc = "ResourceRequirements of the TensorBoard's container.",
        .kubernetes = "pod.spec.containers.resources",
    },
    field{
        .name = "scheduler",
        .type = value_type::object,
        .doc = "Who schedules the TensorBoard's pod.",
        .fields = board_scheduler_fields,
    },
    field{
        .name = "suspend",
        .type = value_type::boolean,
        .doc = "Stops the TensorBoard.",
        .fallback = "false",
    },
};

constexpr std::array replica_fields{
    field{
        .name = "type",
        .doc = "Name of the replica type; unique in the job.",
        .required = true,
        .form = &replica_type_form,
    },
    field{
        .name = "replicas",
        .type = value_type::integer,
        .doc = "Number of pods of this type.",
        .fallback = "1",
        .minimum = 0,
        .maximum = max_replicas,
    },
    field{
        .name = "scalingWeight",
        .type = value_type::integer,
        .doc =
            "Share of `elastic.expectedReplicas` that this type gets; by default its `replicas`.",
        .minimum = 0,
    },
    restart_policy_field,
    template_field,
};

constexpr std::array<std::string_view, 1> torchrun_enable_alias{"enable"};

constexpr std::array rdzv_backends{
    enum_value{"c10d"}, enum_value{"static"}, enum_value{"etcd"}, enum_value{"etcd-v2"}};

constexpr std::array torchrun_fields{
    field{
        .name = "enabled",
        .type = value_type::boolean,
        .doc = "Starts the training program with torchrun.",
        .aliases = torchrun_enable_alias,
        .fallback = "false",
    },
    field{
        .name = "maxRestarts",
        .type = value_type::integer,
        .doc = "Restarts inside torchrun; default 0, with elastic training 100. With 0 the job "
               "cannot do without a pod: each loss restarts all.",
        .minimum = 0,
    },
    field{
        .name = "procPerNode",
        .type = value_type::int_or_string,
        .doc = "Processes per pod: a positive number, `gpu`, `cpu` or `auto`.",
        .fallback = "\"1\"",
        .form = &proc_per_node_form,
        .minimum = 1,
        .maximum = 999'999'999,
    },
    field{
        .name = "rdzvBackend",
        .doc = "Rendezvous back end.",
        .fallback = "\"c10d\"",
        .values = rdzv_backends,
    },
    field{
        .name = "extraOptions",
        .type = value_type::string_list,
        .doc = "Further options of torchrun.",
        .rule = "api 3.3",
    },
    field{
        .name = "minNodes",
        .type = value_type::integer,
        .doc = "Old name of `elastic.minReplicas`.",
        .moved_to = "elastic.minReplicas",
        .minimum = 1,
        .maximum = max_replicas,
        .when = change::by_own_rule,
    },
};

constexpr std::array pytorch_spec_fields{
    scheduler_field,
    run_mode_field,
    run_policy_field,
    elastic_field,
    field{
        .name = "torchrunConfig",
        .type = value_type::object,
        .doc = "Whether and how torchrun starts the training program.",
        .fields = torchrun_fields,
        .rule = "api 3.2",
    },
    field{
        .name = "replicaSpecs",
        .type = value_type::object_list,
        .doc = "The replica types; the first with replicas holds the master. Plain jobs and static "
               "torchrun have ranks in their "
               "order, c10d in the order of names.",
        .fields = replica_fields,
        .required = true,
        .max_items = max_types,
        .rule = "api 3.1",
    },
    field{
        .name = "tensorboardSpec",
        .type = value_type::object,
        .doc = "A TensorBoard that shows the training logs.",
        .fields = tensorboard_fields,
        .when = change::any_time,
        .rule = "api 1.9",
    },
    managed_by_field,
};

}  // namespace

constexpr field pytorch_spec_field = spec_field_of(pytorch_spec_fields, "api 3");

}  // namespace signalbox::core::schema
