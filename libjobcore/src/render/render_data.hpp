// SPDX-License-Identifier: Apache-2.0
//
// What compile_plan prepares for the renderer.
#pragma once

#include "render/fingerprint.hpp"
#include "render/program.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace signalbox::core {

/// Values of planned_object::variant for Services.
enum service_variant : std::int32_t {
    subdomain_service,  ///< all pods of the job
    alias_service,      ///< the rendezvous pod alone, under its own hostname (behaviour.md 1.5)
};

/// The programs of one role. The deciding pod and an attempt made by a resume may need their own.
struct role_render {
    std::vector<program> programs;
    /// Index into `programs`, by [deciding pod][resumed].
    std::array<std::array<std::size_t, 2>, 2> choice{};
};

struct render_data {
    std::string component;  ///< the kind in lower case
    std::vector<role_render> roles;
    /// The role whose index 0 the alias Service selects.
    std::size_t rendezvous_role = 0;
    /// Fingerprint of a Service up to its selector.
    fnv1a service_hash;
};

}  // namespace signalbox::core
