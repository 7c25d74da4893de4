// SPDX-License-Identifier: Apache-2.0
#include "api/bind/bind.hpp"

namespace signalbox::core::schema {
namespace {

deepspeed_spec bind_launch(const node& spec) {
    const node& config = spec["config"];
    deepspeed_spec bound;
    bound.disable_custom_env = spec["disableCustomEnv"].flag();
    bound.custom_command = config["customCommand"].text();
    if (config["slotsPerWorker"].present()) {
        bound.slots_per_worker = config["slotsPerWorker"].int32();
    }
    bound.autotune = config["autotune"].text();
    bound.python = config["run"]["python"].texts();
    bound.module = config["run"]["module"].texts();
    bound.exec = config["run"]["exec"].texts();
    // A program that is none of DeepSpeed's does not expect an argument that was not written.
    const node& local_rank = config["localRank"];
    bound.local_rank = local_rank.flag() && (local_rank.present() || bound.exec.empty());
    bound.other_args = config["otherArgs"].texts();
    return bound;
}

}  // namespace

job_spec bind_deepspeed(const node& spec) {
    job_spec bound = bind_shared(spec);
    bind_restarts(spec, bound);
    const node& worker = spec["worker"];
    bound.replicas.push_back(
        {.type = "worker",
         .replicas = worker["replicas"].int32(),
         .restart = *bind_choice<restart_policy>(worker["restartPolicy"]),
         .pod_template = bind_json(worker["template"]),
         .pointer = worker.pointer}
    );
    bound.launch = bind_launch(spec);
    return bound;
}

}  // namespace signalbox::core::schema
