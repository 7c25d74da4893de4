// SPDX-License-Identifier: Apache-2.0
//
// Settings that several commands share: the API server, the log, the policy.
#pragma once

#include "cli/commands.hpp"

#include <jobcore/policy.hpp>
#include <k8sio/connect.hpp>

#include <spdlog/logger.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace signalbox::op::cli {

/// Which server is meant by --kubeconfig and --context.
k8sio::connect_options connect_to(const cluster_options& options);

/// Writes to standard error. Level `off` gives a logger that writes nothing.
std::shared_ptr<spdlog::logger> make_logger(const log_options& options);

/// Applies `key=value` overrides. Times are milliseconds. Gives what is wrong, or nothing.
std::optional<std::string> set_policy(core::policy& of, const std::vector<std::string>& overrides);

/// Sets who schedules jobs that name no scheduler; empty: the cluster's own. Gives what is wrong,
/// or nothing.
std::optional<std::string> set_default_scheduler(core::policy& of, const std::string& name);

/// All keys that set_policy takes, for help texts.
std::string policy_keys();

}  // namespace signalbox::op::cli
