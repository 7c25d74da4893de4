// SPDX-License-Identifier: Apache-2.0
#include "api/bind.hpp"

namespace signalbox::core::schema {
namespace {

constexpr std::int32_t elastic_max_restarts = 100;

run_policy bind_policy(const node& policy) {
    run_policy bound;
    bound.active_deadline_seconds = policy["activeDeadlineSeconds"].integer();
    bound.backoff_limit = policy["backoffLimit"].int32();
    bound.clean_up = *bind_choice<clean_up_policy>(policy["cleanUpPolicy"]);
    if (policy["ttlSecondsAfterFinished"].present()) {
        bound.ttl_seconds_after_finished = policy["ttlSecondsAfterFinished"].int32();
    }
    bound.scope = bind_choice<restart_scope>(policy["restartScope"]);
    bound.failure = *bind_choice<failure_policy>(policy["failurePolicy"]);
    return bound;
}

replica_spec bind_replica(const node& n) {
    return replica_spec{
        .type = n["type"].text(),
        .replicas = n["replicas"].int32(),
        .scaling_weight = n["scalingWeight"].int32(),
        .restart = *bind_choice<restart_policy>(n["restartPolicy"]),
        .pod_template = bind_json(n["template"]),
        .pointer = n.pointer,
    };
}

torchrun_config bind_torchrun(const node& n, bool elastic) {
    torchrun_config bound;
    bound.enabled = n["enabled"].flag();
    bound.max_restarts = static_cast<std::int32_t>(
        n["maxRestarts"].integer().value_or(elastic ? elastic_max_restarts : 0)
    );
    bound.proc_per_node = n["procPerNode"].text();
    bound.rdzv_backend = n["rdzvBackend"].text();
    bound.extra_options = n["extraOptions"].texts();
    return bound;
}

}  // namespace

job_spec bind_pytorch(const node& spec) {
    job_spec bound;
    bound.scheduler = bind_scheduler(spec["scheduler"]);
    bound.mode = bind_run_mode(spec["runMode"]);
    bound.policy = bind_policy(spec["runPolicy"]);
    if (spec["elastic"]["enabled"].flag()) {
        bound.elastic = bind_elastic(spec["elastic"]);
        const node& old_minimum = spec["torchrunConfig"]["minNodes"];
        if (!spec["elastic"]["minReplicas"].present() && old_minimum.present()) {
            bound.elastic->min_replicas = old_minimum.int32();
        }
    }
    bound.managed_by = spec["managedBy"].text();
    for (const node& replica : spec["replicaSpecs"].items) {
        bound.replicas.push_back(bind_replica(replica));
    }
    bound.launch = pytorch_spec{
        .torchrun = bind_torchrun(spec["torchrunConfig"], bound.elastic.has_value()),
        .tensorboard = bind_json(spec["tensorboardSpec"]),
    };
    return bound;
}

}  // namespace signalbox::core::schema
