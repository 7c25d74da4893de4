// SPDX-License-Identifier: Apache-2.0
//
// Deployments and their pods as the stand-ins for the Deployment controller see them.
#pragma once

#include <jobcore/time.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox::op::pods {

/// The label of pods with the hash of their template, as the real controller sets it.
inline constexpr const char* hash_label = "pod-template-hash";

/// A Deployment as far as it matters here.
struct deployment_record {
    std::string uid, resource_version, ns, name;
    std::string pod_template;  ///< PodTemplateSpec, JSON
    std::int64_t generation = 0, wanted = 1;
    /// Its status.
    std::int64_t observed_generation = 0, replicas = 0, ready = 0;
    bool available = false;

    /// True if so many pods serve as are wanted.
    bool is_served_by(std::int64_t ready_pods) const { return ready_pods >= wanted; }
    /// True if its status says this of its present specification.
    bool says(std::int64_t pods, std::int64_t ready_pods) const;
};
/// Nothing if the text is no object with a UID.
std::optional<deployment_record> read_deployment_record(std::string_view json);

/// What of its pods all were made from.
std::string template_hash(const deployment_record& of);

/// The merge patch of its status for this many pods.
std::string status_patch(
    const deployment_record& of, std::int64_t pods, std::int64_t ready_pods, core::instant now
);

/// A pod of a Deployment.
struct deployed_pod {
    std::string uid, resource_version, ns, name;
    std::string deployment;     ///< UID of its owner
    std::string template_hash;  ///< of the template that it was made from
    bool ready = false, ended = false, deleting = false;
};
/// Nothing if the text is no object with a UID.
std::optional<deployed_pod> read_deployed_pod(std::string_view json);

}  // namespace signalbox::op::pods
