// SPDX-License-Identifier: Apache-2.0
//
// Each function registers a group of commands: names, options, help texts. What the commands do is
// elsewhere, behind commands.hpp.
#pragma once

#include "cli/tree/command_tree.hpp"

namespace signalbox::op::cli {

/// Those that read files, or tell of the program: validate, plan, explain, crds, docs.
void add_offline_commands(command_tree& tree);
/// What people do about jobs of a cluster: wait, logs, top, pause, resume, scale.
void add_job_commands(command_tree& tree);
/// The operator, and what stands in for a cluster: run, dev, pods.
void add_operator_commands(command_tree& tree);

/// What the shell and `man` want to know of the program: completion, man, version. Made from the
/// tree, when they are asked.
void add_shell_commands(command_tree& tree);

}  // namespace signalbox::op::cli
