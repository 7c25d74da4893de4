// SPDX-License-Identifier: Apache-2.0
#include "controller/resource_table.hpp"

#include <array>

namespace signalbox::op {

namespace {

using k8sio::resource_type;

const resource_type& pod_groups() {
    static const resource_type type(
        "scheduler.tensorstack.dev", "v1beta1", "podgroups", "PodGroup"
    );
    return type;
}

const resource_type& tensorboards() {
    static const resource_type type("tensorstack.dev", "v1beta1", "tensorboards", "TensorBoard");
    return type;
}

const resource_type& deployments() {
    static const resource_type type("apps", "v1", "deployments", "Deployment");
    return type;
}

resource_type job_type(core::job_kind kind) {
    return resource_type(
        std::string(core::api_group),
        "v1beta1",
        std::string(core::plural(kind)),
        std::string(core::to_string(kind))
    );
}

}  // namespace

std::span<const watched_kind> watched_children() {
    static const std::array rows{
        watched_kind{core::object_kind::service, &k8sio::resources::services()},
        watched_kind{core::object_kind::secret, &k8sio::resources::secrets()},
        watched_kind{core::object_kind::config_map, &k8sio::resources::config_maps()},
        watched_kind{core::object_kind::deployment, &deployments()},
        watched_kind{core::object_kind::pod_group, &pod_groups(), watched::if_served},
        watched_kind{core::object_kind::tensorboard, &tensorboards(), watched::if_served},
    };
    return rows;
}

const resource_type& type_of(core::job_kind job) {
    static const resource_type pytorch = job_type(core::job_kind::pytorch);
    static const resource_type deepspeed = job_type(core::job_kind::deepspeed);
    static const resource_type colossalai = job_type(core::job_kind::colossalai);
    switch (job) {
        case core::job_kind::pytorch:
            return pytorch;
        case core::job_kind::deepspeed:
            return deepspeed;
        case core::job_kind::colossalai:
            return colossalai;
    }
    return pytorch;
}

const resource_type& type_of(core::object_kind kind, core::job_kind job) {
    switch (kind) {
        case core::object_kind::pod:
            return k8sio::resources::pods();
        case core::object_kind::service:
            return k8sio::resources::services();
        case core::object_kind::secret:
            return k8sio::resources::secrets();
        case core::object_kind::config_map:
            return k8sio::resources::config_maps();
        case core::object_kind::pod_group:
            return pod_groups();
        case core::object_kind::tensorboard:
            return tensorboards();
        case core::object_kind::deployment:
            return deployments();
        case core::object_kind::job:
            break;
    }
    return type_of(job);
}

}  // namespace signalbox::op
