// SPDX-License-Identifier: Apache-2.0
//
// ColossalAIJob: BEHAVIOUR.md api 4, both published shapes. `launcher` and `worker` are the first;
// `torchConfig` and `replicaSpecs` are the second.
#include "api/tables/shared.hpp"
#include "api/tables/specs.hpp"

#include <array>

namespace signalbox::core::schema {
namespace {

constexpr std::array<std::string_view, 1> auth_path_alias{"sshAuthMountPath"};

constexpr std::array ssh_fields{
    field{
        .name = "authMountPath",
        .doc = "Where the keys are mounted in launcher and workers.",
        .aliases = auth_path_alias,
        .fallback = "\"/root/.ssh\"",
        .form = &path_form,
    },
    field{
        .name = "sshdPath",
        .doc = "The program sshd in the workers.",
        .fallback = "\"/usr/sbin/sshd\"",
        .form = &path_form,
    },
};

constexpr std::array run_policy_fields_of_kind{
    field{
        .name = "cleanUpWorkers",
        .type = value_type::boolean,
        .doc = "Deletes the workers when the job has ended.",
        .fallback = "false",
        .when = change::any_time,
    },
    deadline_field,
    ttl_field,
    failure_rules_field(ending_rule_fields),
    progress_policy_field(watch_only_fields),
};

constexpr field launcher_image_field{
    .name = "image",
    .doc = "Image of the launcher; default: that of the workers.",
};
constexpr field launcher_dir_field{
    .name = "workingDir",
    .doc =
        "Working directory of the launcher, into which the workers change too; default: that "
        "of the image.",
};
constexpr field launcher_env_field{
    .name = "env",
    .type = value_type::opaque_list,
    .doc = "Environment of the launcher: EnvVar objects.",
    .kubernetes = "pod.spec.containers.env",
};
constexpr field launcher_resources_field{
    .name = "resources",
    .type = value_type::opaque_object,
    .doc = "ResourceRequirements of the launcher.",
    .kubernetes = "pod.spec.containers.resources",
};

constexpr std::array launcher_fields{
    launcher_image_field,
    launcher_dir_field,
    launcher_env_field,
    launcher_resources_field,
};

constexpr field processes_field{
    .name = "procPerWorker",
    .type = value_type::integer,
    .doc = "Processes per worker.",
    .fallback = "1",
    .minimum = 1,
};
constexpr std::string_view command_doc =
    "The training script, which ends in `.py`, or `-m` and a module (ColossalAI 0.4.7 and later), "
    "and its arguments. Required unless debug mode is on.";
constexpr std::string_view options_doc = "Options of torchrun, in their long form.";

constexpr std::array colossalai_worker_fields{
    worker_replicas_field,
    processes_field,
    field{.name = "command", .type = value_type::string_list, .doc = command_doc},
    field{.name = "torchArgs", .type = value_type::string_list, .doc = options_doc},
    template_field,
};

constexpr std::array torch_config_fields{
    processes_field,
    field{.name = "script", .type = value_type::string_list, .doc = command_doc},
    field{.name = "extraArgs", .type = value_type::string_list, .doc = options_doc},
};

constexpr std::array entry_types{enum_value{"launcher"}, enum_value{"worker"}};

constexpr std::array entry_restart_fields{
    field{
        .name = "policy",
        .doc = "Has no effect: this kind does not restart.",
        .values = restart_values,
    },
    field{
        .name = "limit",
        .type = value_type::integer,
        .doc = "Must be 0: this kind does not restart.",
        .fallback = "0",
        .minimum = 0,
    },
};

constexpr std::array entry_fields{
    field{
        .name = "type",
        .doc = "Which replicas this entry is about.",
        .required = true,
        .values = entry_types,
    },
    worker_replicas_field,
    field{
        .name = "restartPolicy",
        .type = value_type::object,
        .doc = "Has no effect: this kind does not restart.",
        .fields = entry_restart_fields,
        .rule = "behaviour 5.11",
    },
    field{
        .name = "template",
        .type = value_type::opaque_object,
        .doc = "PodTemplateSpec of the workers, every field of which reaches the pods. Of the "
               "launcher's only `image`, `workingDir`, `env` and `resources` of its container are "
               "used.",
        .required = true,
        .rule = "api 4.4",
        .kubernetes = "pod",
    },
};

constexpr std::array size_fields{
    field{
        .name = "expectedReplicas",
        .type = value_type::integer,
        .doc = "Workers and launcher, written by the operator for the scale subresource. This kind "
               "is never elastic.",
        .minimum = 1,
        .maximum = max_replicas + 1,
        .when = change::any_time,
        .rule = "behaviour 7.1",
    },
};

constexpr std::array colossalai_spec_fields{
    field{
        .name = "ssh",
        .type = value_type::object,
        .doc = "How launcher and workers use ssh.",
        .fields = ssh_fields,
        .rule = "api 4.2",
    },
    run_mode_field,
    field{
        .name = "runPolicy",
        .type = value_type::object,
        .doc = "Deadline and clean-up. This kind does not restart.",
        .fields = run_policy_fields_of_kind,
        .rule = "api 1.6",
    },
    scheduler_field,
    field{
        .name = "launcher",
        .type = value_type::object,
        .doc = "The launcher, whose pod decides about the job.",
        .fields = launcher_fields,
        .rule = "api 4.3",
    },
    field{
        .name = "worker",
        .type = value_type::object,
        .doc = "The workers. Required, unless the job is written with `replicaSpecs`.",
        .fields = colossalai_worker_fields,
        .rule = "api 4.4",
    },
    field{
        .name = "torchConfig",
        .type = value_type::object,
        .doc = "The training program, in the form that goes with `replicaSpecs`.",
        .fields = torch_config_fields,
        .rule = "api 4.1",
    },
    field{
        .name = "replicaSpecs",
        .type = value_type::object_list,
        .doc = "Launcher and workers in the other published form; not together with `launcher` or "
               "`worker`.",
        .fields = entry_fields,
        .max_items = max_types,
        .rule = "api 4.1",
    },
    field{
        .name = "elastic",
        .type = value_type::object,
        .doc = "The number of pods, for the scale subresource.",
        .fields = size_fields,
        .rule = "api 1.8",
    },
    managed_by_field,
};

constexpr std::array container_fields{
    field{.name = "name", .doc = "Name of the container."},
    launcher_image_field,
    launcher_dir_field,
    launcher_env_field,
    launcher_resources_field,
};
constexpr std::array pod_fields{
    field{
        .name = "containers",
        .type = value_type::object_list,
        .doc = "The launcher's container.",
        .fields = container_fields,
    },
};
constexpr std::array template_fields{
    field{
        .name = "spec",
        .type = value_type::object,
        .doc = "The launcher's pod.",
        .fields = pod_fields,
    },
};

}  // namespace

constexpr field colossalai_spec_field = spec_field_of(colossalai_spec_fields, "api 4");

constexpr field launcher_template_field{
    .name = "template",
    .type = value_type::object,
    .doc = "What is used of the launcher's template.",
    .fields = template_fields,
};

}  // namespace signalbox::core::schema
