// SPDX-License-Identifier: Apache-2.0
//
// Options that several commands have.
#pragma once

#include "cli/commands.hpp"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace signalbox::op::cli {

/// --kubeconfig and --context; both are refused beside `offline`, with which no server is asked.
void add_cluster(CLI::App& to, cluster_options& options, CLI::Option* offline = nullptr);
/// The job that a command is about.
void add_target(CLI::App& to, std::string& target);
/// -n; `what` says which namespace it is without.
void add_namespace(CLI::App& to, std::string& ns, const std::string& what);
/// --log-level and --log-format.
void add_log(CLI::App& to, log_options& options);
/// --default-scheduler.
void add_default_scheduler(CLI::App& to, std::string& name);
/// --policy.
void add_policy(CLI::App& to, std::vector<std::string>& overrides);
/// -o.
void add_output(CLI::App& to, output_format& format);
/// Files by `-f` and without; at least one.
void add_files(CLI::App& to, std::vector<std::string>& files);

/// --namespace of commands about a job of a cluster.
inline constexpr const char* context_namespace = "Namespace; that of the context if not given";
/// Positional words of a command that starts a program: what that gets, behind `--`.
inline constexpr const char* program_arguments = "ARG";

}  // namespace signalbox::op::cli
