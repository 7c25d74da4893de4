// SPDX-License-Identifier: Apache-2.0
//
// What jobs whose launcher uses ssh have in common: keys, sshd, the bootstrap and the ConfigMap
// (LAUNCH.md 5.2-5.4).
#pragma once

#include "launch/type_pods.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core::launch {

inline constexpr std::string_view config_dir = "/signalbox/config";
inline constexpr std::string_view run_dir = "/signalbox/run";
/// The keys once more, for users that cannot read root's.
inline constexpr std::string_view key_dir = "/signalbox/keys";

/// Where ssh finds its things in the pods, and who uses them.
struct ssh_layout {
    std::string auth_path = "/root/.ssh";  ///< mount path of the Secret
    std::string sshd_path = "/usr/sbin/sshd";
    std::int32_t port = 2222;
    /// The container's user, if the template names one: else that of the image, which is not known.
    std::optional<std::int64_t> user;
    bool read_only_root = false;  ///< of the training container
};

/// The port and the user of a worker's template (BEHAVIOUR.md 3.3). Keeps the paths.
void read_layout(ssh_layout& layout, const compile_context& ctx, const type_template& worker);

/// The keys do not lie where root's ssh looks for them.
bool links_config(const ssh_layout& layout);

/// What of the bootstrap's settings differs between kinds.
struct bootstrap_use {
    std::string sweep_pattern;    ///< of pkill -f, for launchers that an earlier one left behind
    std::string env_file;         ///< DeepSpeed's environment file; empty: none
    bool launcher_sshd = false;   ///< the launcher's pod runs ranks too
    bool same_directory = false;  ///< the launcher's directory must exist on the workers
    bool forwards_environment = true;  ///< ssh sessions have the container's variables
    std::string shared_variables;      ///< names for the environment file, a line each
};

/// What the launcher itself makes of the environment that it is started with.
enum class launcher_exports {
    none,    ///< its ranks have what it has
    pdsh,    ///< it exports some variables over pdsh, badly quoted (LAUNCH.md 2.4)
    escape,  ///< it exports all of them in double quotes, unescaped (LAUNCH.md 4.4)
};

/// What the program of `run.sh` needs of the bootstrap.
struct run_needs {
    bool pdsh = false;
    launcher_exports exports = launcher_exports::none;
    bool bare_environment = false;  ///< no variables but those that a session has
    std::string autotune_config;    ///< of DeepSpeed, whose result is looked for; empty: none
};
/// `run.sh`: the needs, and the program as positional parameters; none of no words.
std::string run_script(const run_needs& needs, const std::vector<std::string>& words);

/// Names of the container's variables that are the same on every pod, a line each, ours included.
std::string shared_variables(const json::value& container);

/// A program for `run.sh`, by [several][resumed]: lines of shell.
using run_scripts = std::array<std::array<std::string, 2>, 2>;

/// The Secret and the ConfigMap, in this order, appended to the plan's objects.
void plan_ssh_objects(
    compile_context& ctx,
    const ssh_layout& layout,
    const bootstrap_use& use,
    const type_template& source,
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
    const type_template& source,
    const ssh_layout& layout,
    const std::vector<std::string_view>& hostfiles
);

}  // namespace signalbox::core::launch
