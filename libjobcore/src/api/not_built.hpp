// SPDX-License-Identifier: Apache-2.0
//
// What api.md has and the engine cannot do yet. It is refused with NotSupported, never ignored
// (api.md 6.5). A finished version has no row here.
#pragma once

#include "api/walk.hpp"
#include "jobcore/spec.hpp"

#include <span>
#include <string_view>

namespace signalbox::core::schema {

struct unbuilt_feature {
    /// Below `spec`, in canonical names. A boolean asks for the feature if it is true, anything
    /// else if it is there.
    std::string_view path;
    std::string_view message;
};

/// The rows. Delete one when the engine has learned it.
std::span<const unbuilt_feature> unbuilt_features();
std::span<const job_kind> unbuilt_kinds();

/// Reports what an object asks for and is not built. `kind_name` is its field `kind`.
void check_not_built(
    job_kind kind, const node& kind_name, const node& spec, findings_collector& findings
);

}  // namespace signalbox::core::schema
