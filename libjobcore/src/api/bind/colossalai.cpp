// SPDX-License-Identifier: Apache-2.0
#include "api/bind/bind.hpp"
#include "api/rules/colossalai_parts.hpp"
#include "api/rules/rules.hpp"

namespace signalbox::core::schema {
namespace {

/// `launcher`, or the launcher's container of the second shape: their fields have the same names.
void bind_launcher(const node& launcher, colossalai_spec& bound) {
    bound.launcher_image = launcher["image"].text();
    bound.launcher_working_dir = launcher["workingDir"].text();
    bound.launcher_env = bind_json(launcher["env"]);
    bound.launcher_resources = bind_json(launcher["resources"]);
}

/// The launcher's image is by default that of the worker (BEHAVIOUR.md api 4.3).
void default_image(const node& worker, colossalai_spec& bound) {
    std::size_t index = 0;
    const json::value* container =
        training_container(*worker["template"].value, worker_container, index);
    if (bound.launcher_image.empty() && container != nullptr) {
        bound.launcher_image = json::string_or_empty(*container, "image");
    }
}

colossalai_spec bind_launch(const node& spec, const colossalai_parts& parts) {
    colossalai_spec bound;
    bound.auth_mount_path = spec["ssh"]["authMountPath"].text();
    bound.sshd_path = spec["ssh"]["sshdPath"].text();
    bound.proc_per_worker = parts.processes->int32();
    bound.command = parts.command->texts();
    bound.torch_args = parts.options->texts();
    if (!parts.second) {
        bind_launcher(*parts.launcher, bound);
    } else if (parts.launcher != nullptr) {
        findings_collector ignored;
        const node walked = walk_launcher_template(*parts.launcher, ignored);
        if (const node* container = launcher_container(walked); container != nullptr) {
            bind_launcher(*container, bound);
        }
    }
    default_image(*parts.worker, bound);
    return bound;
}

}  // namespace

job_spec bind_colossalai(const node& spec) {
    const colossalai_parts parts = parts_of(spec);
    const node& launcher = parts.launcher != nullptr ? *parts.launcher : spec["launcher"];
    job_spec bound = bind_shared(spec);
    bound.policy = bind_run_policy(spec["runPolicy"]);
    bound.policy.clean_up_workers = spec["runPolicy"]["cleanUpWorkers"].flag();
    // The deciding pod's type first. Its template is made from the workers' (BEHAVIOUR.md 3.6).
    bound.replicas = {
        {.type = std::string(launcher_type),
         .restart = restart_policy::never,
         .pod_template = "{}",
         .pointer = launcher.pointer},
        {.type = std::string(worker_type),
         .replicas = (*parts.worker)["replicas"].int32(),
         .restart = restart_policy::never,
         .pod_template = bind_json((*parts.worker)["template"]),
         .pointer = parts.worker->pointer},
    };
    bound.launch = bind_launch(spec, parts);
    return bound;
}

}  // namespace signalbox::core::schema
