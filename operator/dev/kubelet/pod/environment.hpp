// SPDX-License-Identifier: Apache-2.0
//
// The environment, command and arguments of a container by Kubernetes' rules. Pure.
#pragma once

#include "kubelet/pod/pod_spec.hpp"
#include "kubelet/pod/refusal.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::op::kubelet {

/// The data of ConfigMaps and Secrets that a pod refers to, decoded; null: there is no such object.
struct object_data {
    std::map<std::string, string_map> config_maps, secrets;
    string_map tokens;  ///< of the pod's service account, by audience
    const string_map* config_map(const std::string& name) const;
    const string_map* secret(const std::string& name) const;
};

/// What is known of a Service where a pod starts.
struct service_entry {
    std::string name;
    std::string address;
    struct port {
        std::string name, protocol;
        std::int32_t number = 0;
    };
    std::vector<port> ports;
};

/// What a pod gets to know of where it runs.
struct pod_place {
    std::string node, host_address, pod_address;
    std::uint64_t milli_cpus = 0, memory = 0;  ///< of the node, where a container has no limit
};

using variables = std::vector<std::pair<std::string, std::string>>;

/// Finds the value of a variable; null if it is not defined.
using variable_lookup = std::function<const std::string*(std::string_view)>;
/// Replaces `$(NAME)`; `$$` becomes `$`, and an unknown name stays as it is (LAUNCH.md 1.5).
std::string expand(std::string_view text, const variable_lookup& find);
/// The same with the last of each name in `in`.
std::string expand(std::string_view text, const variables& in);

/// `NAME_SERVICE_HOST` and so on (LAUNCH.md 1.8).
variables service_variables(const std::vector<service_entry>& services);

/// Value of a field of the downward API; whole `metadata.labels` as volumes have them.
outcome<std::string> field_value(
    std::string_view path, const pod_spec& pod, const pod_place& place
);
/// Value of a container's resource.
outcome<std::string> resource_value(
    const env_entry& from,
    const container_spec& otherwise,
    const pod_spec& pod,
    const pod_place& place
);

/// Everything that a container's environment is made of. Later entries of a name win; names that
/// no shell would take are kept.
///
/// Errors: CreateContainerConfigError for an object or key that is missing.
outcome<variables> environment_of(
    const container_spec& of,
    const pod_spec& pod,
    const pod_place& place,
    const std::vector<service_entry>& services,
    const object_data& objects
);

/// ConfigMaps and Secrets that the container's environment needs, by name.
class object_names {
public:
    object_names() = default;
    bool empty() const { return config_maps.empty() && secrets.empty(); }
    std::vector<std::string> config_maps, secrets;
};
void add_references(const container_spec& of, object_names& to);
void add_references(const volume_spec& of, object_names& to);

}  // namespace signalbox::op::kubelet
