// SPDX-License-Identifier: Apache-2.0
//
// What `signalbox run` serves, and `signalbox rbac` writes roles for: the same flags in both.
#pragma once

#include "cli/commands.hpp"
#include "controller/options.hpp"

#include <optional>
#include <string>

namespace signalbox::op::cli {

/// Reads `scope` into `out`. Gives what is wrong, with the flag's name, or nothing.
std::optional<std::string> read_scope(const scope_options& scope, controller_options& out);

/// Nothing if what the scheduler places pods by is served by this scope, or it needs nothing
/// served; else what is wrong. `name`: a name in `spec.scheduler`, or `auto`.
std::optional<std::string> check_default_scheduler(
    const std::string& name, const controller_options& options
);

/// `ssh, gang, ...`, for help texts.
std::string feature_names();

/// `kubernetes, ...`: the schedulers of gangs that have to be asked for.
std::string scheduler_names();

}  // namespace signalbox::op::cli
