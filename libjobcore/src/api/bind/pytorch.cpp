// SPDX-License-Identifier: Apache-2.0
#include "api/bind/bind.hpp"

namespace signalbox::core::schema {
namespace {

constexpr std::int32_t elastic_max_restarts = 100;

replica_spec bind_replica(const node& n) {
    return replica_spec{
        .type = n["type"].text(),
        .replicas = n["replicas"].int32(),
        .scaling_weight =
            static_cast<std::int32_t>(n["scalingWeight"].integer().value_or(n["replicas"].int32())),
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
    job_spec bound = bind_shared(spec);
    bind_restarts(spec, bound);
    const node& old_minimum = spec["torchrunConfig"]["minNodes"];
    if (bound.elastic && !spec["elastic"]["minReplicas"].present() && old_minimum.present()) {
        bound.elastic->min_replicas = old_minimum.int32();
    }
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
