// SPDX-License-Identifier: Apache-2.0
//
// DeepSpeedJob: BEHAVIOUR.md api 2.
#include "api/tables/shared.hpp"
#include "api/tables/specs.hpp"

#include <array>

namespace signalbox::core::schema {
namespace {

constexpr std::uint32_t max_command_line = 32 * 1024;  // BEHAVIOUR.md api 6.2

constexpr std::array<std::string_view, 1> module_alias{"Module"};
constexpr std::array<std::string_view, 1> exec_alias{"Exec"};

constexpr std::array run_fields{
    field{
        .name = "python",
        .type = value_type::string_list,
        .doc = "A Python script and its arguments.",
    },
    field{
        .name = "module",
        .type = value_type::string_list,
        .doc = "A Python module and its arguments.",
        .aliases = module_alias,
    },
    field{
        .name = "exec",
        .type = value_type::string_list,
        .doc = "A program and its arguments.",
        .aliases = exec_alias,
    },
};

constexpr std::array autotune_values{enum_value{"none"}, enum_value{"tune"}, enum_value{"run"}};

constexpr std::array config_fields{
    field{
        .name = "customCommand",
        .doc = "A shell line that starts the training. If it is set, nothing else here has an "
               "effect but `slotsPerWorker`.",
        .max_length = max_command_line,
        .rule = "api 2.2",
    },
    field{
        .name = "slotsPerWorker",
        .type = value_type::integer,
        .doc = "Processes per worker; default: the accelerators of the training container, else 1.",
        .minimum = 1,
        .rule = "api 2.3",
    },
    field{
        .name = "localRank",
        .type = value_type::boolean,
        .doc =
            "Whether the program gets `--local_rank`; false adds `--no_local_rank`. A program of "
            "`run.exec` gets it only if true is written.",
        .fallback = "true",
    },
    field{
        .name = "autotune",
        .doc = "Whether DeepSpeed searches for a good configuration. Only with `run.python`.",
        .fallback = "\"none\"",
        .values = autotune_values,
    },
    field{
        .name = "run",
        .type = value_type::object,
        .doc = "The training program: exactly one of its fields, unless `customCommand` is set or "
               "debug mode is on.",
        .fields = run_fields,
        .rule = "api 2.2",
    },
    field{
        .name = "otherArgs",
        .type = value_type::string_list,
        .doc = "Further options of the launcher `deepspeed`. `--no_ssh` starts the processes "
               "without ssh.",
        .rule = "api 2.4",
    },
};

constexpr std::array deepspeed_worker_fields{
    worker_replicas_field,
    restart_policy_field,
    template_field,
};

constexpr std::array deepspeed_spec_fields{
    scheduler_field,
    run_mode_field,
    run_policy_field,
    elastic_field,
    field{
        .name = "disableCustomEnv",
        .type = value_type::boolean,
        .doc =
            "Keeps the variables of image and template from the training processes, which then "
            "have PATH, LD_LIBRARY_PATH, LIBRARY_PATH, PYTHONPATH, CUDA_HOME and NVIDIA_* alone. "
            "Else they have all, over ssh too, but for those that belong to the process: "
            "BASH*, OLDPWD, PWD, SHELL, SHLVL, SSH_*, TERM, UID and the like.",
        .fallback = "false",
        .rule = "api 2.1",
    },
    field{
        .name = "config",
        .type = value_type::object,
        .doc = "How `deepspeed` is started. May be absent in debug mode.",
        .fields = config_fields,
    },
    field{
        .name = "worker",
        .type = value_type::object,
        .doc = "The workers; worker 0 is the master, on which the launcher runs.",
        .fields = deepspeed_worker_fields,
        .required = true,
        .rule = "api 2.5",
    },
    managed_by_field,
};

}  // namespace

constexpr field deepspeed_spec_field = spec_field_of(deepspeed_spec_fields, "api 2");

}  // namespace signalbox::core::schema
