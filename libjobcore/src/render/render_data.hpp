// SPDX-License-Identifier: Apache-2.0
//
// What compile_plan prepares for the renderer.
#pragma once

#include "render/fingerprint.hpp"
#include "render/program.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::core {

/// Values of planned_object::variant for Services.
enum service_variant : std::int32_t {
    subdomain_service,    ///< all pods of the job
    alias_service,        ///< the rendezvous pod alone, under its own hostname (BEHAVIOUR.md 1.5)
    tensorboard_service,  ///< our own TensorBoard, with an address
};

/// The programs of one type. The deciding pod and an attempt made by a resume may need their own.
struct type_render {
    std::vector<program> programs;
    /// Index into `programs`, by [deciding pod][resumed].
    std::array<std::array<std::size_t, 2>, 2> choice{};
};

/// A file of the job's ConfigMap. Its text may depend on whether several replicas are in force and
/// on a resume.
struct config_file {
    std::string name;
    std::array<std::array<std::string, 2>, 2> text;  ///< by [several][resumed]
};

/// The ConfigMap of an ssh job: `files`, and the hostfile for the sizes in force.
struct config_render {
    std::vector<config_file> files;
    std::size_t host_type = 0;
    std::string host_suffix;  ///< of each line of the hostfile, after the host
    /// Hash of the data with so many hosts, as the specification was compiled, by [resumed]: a
    /// large hostfile is not to be made anew for every decision.
    std::array<std::uint64_t, 2> hash{};
    std::int32_t hashed_size = 0;
};

/// The Secret of an ssh job, but for its key slots.
struct secret_render {
    std::string type;
    std::vector<std::pair<std::string, std::string>> literals;  ///< key and text
    /// Whether a version of the operator may have written that text under that key, for whatever
    /// specification. Null: only what is in `literals`.
    bool (*is_of_ours)(std::string_view key, std::string_view text) = nullptr;
};

/// The entries of `data` of an object with keys: first `literals`, then its key slots, both in
/// their order. A value of a pair that `keys` lacks is generated_marker.
std::vector<std::pair<std::string_view, std::string>> secret_data(
    const job_plan& plan, const planned_object& object, const key_pairs& keys
);

/// What no decision changes of the fingerprint of an object, hashed once per plan.
struct fixed_fingerprint {
    object_kind kind = object_kind::service;
    std::int32_t variant = 0;  ///< planned_object::variant
    content_hash state;
    std::uint64_t whole = 0;  ///< the state's value: all there is, for most
    std::uint64_t data = 0;   ///< expected_data_fingerprint of a Secret
};
/// Of all objects and companions of the plan, whose render data are complete but for this.
std::vector<fixed_fingerprint> fixed_fingerprints(const job_plan& plan);

struct render_data {
    std::string component;  ///< the kind in lower case
    std::vector<type_render> types;
    /// The type whose index 0 the alias Service selects.
    std::size_t rendezvous_type = 0;
    std::vector<fixed_fingerprint> fingerprints;  ///< of the plan's objects and companions
    /// Ranks on each pod of an ssh-free DeepSpeedJob (filling::world_info).
    std::int32_t slots = 1;
    config_render config;
    secret_render secret;
    /// `spec` of our own TensorBoard's Deployment as it is written, JSON. planned_object::spec, by
    /// which a difference is known, is without what is taken from the template.
    std::string deployment_spec;
    std::uint64_t deployment_content = 0;  ///< of it
};

/// Replicas of a type by `wanted`, which may be empty: the plan's own then (BEHAVIOUR.md 7.2).
std::int32_t replicas_in_force(
    const job_plan& plan, std::size_t type, std::span<const std::int32_t> wanted
);

}  // namespace signalbox::core
