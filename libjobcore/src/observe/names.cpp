// SPDX-License-Identifier: Apache-2.0
//
// Texts of the enumerations of plan.hpp and observed.hpp, as the API spells them.
#include "jobcore/observed.hpp"
#include "jobcore/plan.hpp"

#include <algorithm>

namespace signalbox::core {

std::string_view to_string(pod_phase phase) {
    switch (phase) {
        case pod_phase::pending:
            return "Pending";
        case pod_phase::running:
            return "Running";
        case pod_phase::succeeded:
            return "Succeeded";
        case pod_phase::failed:
            return "Failed";
        case pod_phase::unknown:
            return "Unknown";
    }
    return {};
}

std::string_view to_string(container_state state) {
    switch (state) {
        case container_state::waiting:
            return "Waiting";
        case container_state::running:
            return "Running";
        case container_state::terminated:
            return "Terminated";
        case container_state::unknown:
            return "Unknown";
    }
    return {};
}

std::string_view to_string(object_kind kind) {
    switch (kind) {
        case object_kind::pod:
            return "Pod";
        case object_kind::service:
            return "Service";
        case object_kind::secret:
            return "Secret";
        case object_kind::config_map:
            return "ConfigMap";
        case object_kind::pod_group:
            return "PodGroup";
        case object_kind::tensorboard:
            return "TensorBoard";
        case object_kind::deployment:
            return "Deployment";
        case object_kind::job:
            return "Job";
    }
    return {};
}

std::optional<object_kind> parse_child_kind(std::string_view version, std::string_view kind) {
    const auto row = std::ranges::find_if(all_child_kinds, [&](object_kind k) {
        return to_string(k) == kind && api_version_of(k) == version;
    });
    return row == all_child_kinds.end() ? std::nullopt : std::optional(*row);
}

}  // namespace signalbox::core
