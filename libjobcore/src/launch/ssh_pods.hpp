// SPDX-License-Identifier: Apache-2.0
//
// What jobs whose launcher uses ssh have in common: keys, sshd, the bootstrap and the ConfigMap
// (LAUNCH.md 5.2-5.4).
#pragma once

#include "launch/role_pods.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core::launch {

inline constexpr std::string_view config_dir = "/signalbox/config";
inline constexpr std::string_view run_dir = "/signalbox/run";

/// Where ssh finds its things in the pods, and who uses them.
struct ssh_layout {
    std::string auth_path = "/root/.ssh";  ///< mount path of the Secret
    std::string sshd_path = "/usr/sbin/sshd";
    std::int32_t port = 2222;
    /// The container's user, if the template names one. Others than root need the group.
    std::int64_t user = 0;
};

/// The port and the user of a worker's template (BEHAVIOUR.md 3.3). Keeps the paths.
void read_layout(ssh_layout& layout, const compile_context& ctx, const role_template& worker);

/// The bootstrap has to put ssh's configuration into the user's home.
bool links_config(const ssh_layout& layout);

/// What of the bootstrap's settings differs between kinds.
struct bootstrap_use {
    std::string sweep_pattern;    ///< of pkill -f, for launchers that an earlier one left behind
    std::string env_file;         ///< DeepSpeed's environment file; empty: none
    bool launcher_sshd = false;   ///< the launcher's pod runs ranks too
    bool same_directory = false;  ///< the launcher's directory must exist on the workers
    bool exports_environment = false;  ///< the launcher exports its environment on the workers
};

/// Which variables of the training container ssh sessions see (LAUNCH.md 2.4, 5.4).
struct session_environment {
    std::string shared;  ///< names that are the same on every pod, a line each
    std::string per_pod;
    std::string mode;  ///< `named`, `all` (envFrom: the names are not known) or `none`
};
/// Of the container as it is, variables of ours included. `forward` false: the essentials only.
session_environment read_environment(const json::value& container, bool forward);

/// A program for `run.sh`, by [several][resumed]: lines of shell.
using run_scripts = std::array<std::array<std::string, 2>, 2>;

/// The Secret and the ConfigMap, in this order, appended to the plan's objects.
void plan_ssh_objects(
    compile_context& ctx,
    const ssh_layout& layout,
    const bootstrap_use& use,
    const session_environment& environment,
    const role_template& source,
    run_scripts scripts
);

/// The command of a pod: `bootstrap.sh <role>` (bootstrap.hpp).
std::vector<std::string> bootstrap_command(std::string_view role);

/// Volumes and mounts of an ssh pod; `hostfiles`: further places of the hostfile.
void add_ssh_volumes(
    pod_editor& pod,
    const compile_context& ctx,
    const ssh_layout& layout,
    const std::vector<std::string_view>& hostfiles
);

/// Reports mounts and volumes of the user that lie where ours do.
void check_ssh_places(
    compile_context& ctx,
    const role_template& source,
    const ssh_layout& layout,
    const std::vector<std::string_view>& hostfiles
);

}  // namespace signalbox::core::launch
