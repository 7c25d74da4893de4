// SPDX-License-Identifier: Apache-2.0
//
// The command line of torchrun (LAUNCH.md 3.1, 9.2).
#pragma once

#include "jobcore/spec.hpp"
#include "launch/type_pods.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core::launch {

inline constexpr std::int32_t c10d_port = 29400;

/// How the agents find each other.
enum class rendezvous {
    c10d,      ///< a store on the deciding pod
    fixed,     ///< `static`: ranks given by us, a store on the deciding pod
    external,  ///< etcd, which the user runs
};
rendezvous parse_rendezvous(std::string_view backend);

/// What the options of one pod depend on besides the job's torchrunConfig.
struct torchrun_pod {
    std::string type;
    std::string rendezvous_host;
    std::string job_uid;
    std::string proc_per_node;  ///< resolved, see resolve_processes
    bool deciding = false;
    const elastic_config* elastic = nullptr;
};

/// The options before the script, `extraOptions` included: ours first, so that where torchrun takes
/// the last of several the user's wins; `--rdzv_conf` is merged by key, the user's keys win.
std::vector<argument> torchrun_options(const torchrun_config& config, const torchrun_pod& pod);

/// `auto` as torchrun reads it would be the cores of the node, or devices of NVIDIA alone: the
/// accelerators of the container, without any extended resource its CPU request, else limit, in its
/// place (LAUNCH.md 3.1). Other values stay as they are.
std::string resolve_processes(const std::string& proc_per_node, const json::value& container);

}  // namespace signalbox::core::launch
