// SPDX-License-Identifier: Apache-2.0
//
// The commands of the local node, and what can be said to each. Every function gives the exit code.
#pragma once

#include "cli/commands.hpp"

#include <iosfwd>
#include <string>
#include <vector>

namespace signalbox::op::cli {

/// What makes pods live.
enum class pod_runtime_kind { simulated, process };

/// Of pods that run as processes of this machine. Texts as given; read_process_options()
/// understands them.
struct pod_process_options {
    std::vector<std::string> images;           ///< `NAME=PATH`, or a path alone
    std::vector<std::string> image_variables;  ///< `GLOB:NAME=VALUE`
    std::vector<std::string> binds;            ///< `SRC:DST`
    std::vector<std::string> fake_resources;   ///< `NAME=COUNT`
    std::string image_cache;                   ///< a folder; empty: the user's
    std::string claims, venv;                  ///< folders
    std::string outputs, log_dir;              ///< folders
    std::string folder;                        ///< empty: one of the user's below /tmp
    bool offline = false;
    bool user_namespaces = false;
};

struct pods_options {
    cluster_options cluster;
    pod_runtime_kind runtime = pod_runtime_kind::simulated;
    pod_process_options process;
    std::string ns;
    std::string selector;
    std::string scenario;
    double speed = 1;
    int nodes = 0;  ///< 0: 4 simulated ones, 1 with processes
    bool create_nodes = false;
    bool bound_only = false;
};
int pods_command(const pods_options& options, std::ostream& out, std::ostream& err);

/// A Python program to run as a job, in place of a manifest.
struct script_options {
    std::vector<std::string> words;  ///< the program and its arguments; empty: none
    int nodes = 0;                   ///< 0: not said, 1
    int processes = 0;               ///< in each pod; 0: not said, one per GPU
};

struct dev_options {
    std::string program = "signalbox";  ///< as it was called, for what it says to type next
    std::string listen = "127.0.0.1:0";
    std::string kubeconfig;
    std::vector<std::string> files;
    script_options script;
    std::string scenario;
    pod_runtime_kind pods = pod_runtime_kind::simulated;
    pod_process_options process;
    std::string ns = "default";
    std::vector<std::string> policy;
    log_options log{"off", "text"};
    double speed = 1;
    bool until_finished = false;
    std::string timeout;  ///< empty: none
    output_format output = output_format::text;
    std::string junit;  ///< file; empty: none
    bool logs = false;  ///< print what pods write
};
int dev(const dev_options& options, std::ostream& out, std::ostream& err);

}  // namespace signalbox::op::cli
