// SPDX-License-Identifier: Apache-2.0
//
// Command lines of DeepSpeed: the runner, which starts ranks on all hosts, and the launcher of one
// node (LAUNCH.md 2.1).
#pragma once

#include "jobcore/spec.hpp"
#include "launch/pod_template.hpp"

#include <string>
#include <vector>

namespace signalbox::core::launch {

/// The user chose the topology without ssh by `--no_ssh` in `otherArgs` (LAUNCH.md 2.6).
bool wants_no_ssh(const deepspeed_spec& launch);

/// Options of `otherArgs` that the launcher of one node does not know, `--no_ssh` excepted.
std::vector<std::string> options_without_effect(const std::vector<std::string>& other_args);

/// What the runner's line depends on besides the job's configuration.
struct runner_facts {
    std::string hostfile;
    std::string master_address;
    bool several = false;    ///< pdsh is used, and words are encoded for it
    bool ssh_check = false;  ///< leave the runner's own check on (images before 0.6.5)
    const std::vector<std::string>* script_args = nullptr;  ///< in place of the script's own
};

/// `deepspeed <options> <script> <arguments>` as words; empty if the job names no script.
std::vector<std::string> runner_line(const deepspeed_spec& launch, const runner_facts& facts);

/// The file that an autotuned script is given as `--deepspeed_config` or `--deepspeed`, as two
/// words or one; empty if there is none.
std::string configuration_of(const std::vector<std::string>& script_args);

/// The arguments of `python -m deepspeed.launcher.launch` in each pod of the topology without ssh.
std::vector<argument> node_line(
    const deepspeed_spec& launch,
    const std::string& master_address,
    const std::vector<std::string>* script_args
);

}  // namespace signalbox::core::launch
