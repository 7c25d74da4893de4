// SPDX-License-Identifier: Apache-2.0
//
// The launcher of a ColossalAIJob: its command line, and its pod's template, which is made from
// that of the workers (LAUNCH.md 4.1).
#pragma once

#include "launch/type_pods.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace signalbox::core::launch {

/// `worker.torchArgs`, translated (LAUNCH.md 4.5).
struct launch_options {
    std::string extra;  ///< value of `--extra_launch_args`; empty: none
    /// Options that this list cannot express, as torchrun's variables `PET_<NAME>`.
    std::vector<std::pair<std::string, std::string>> variables;
};
launch_options translate(const std::vector<std::string>& torch_args);

/// `colossalai run ...` as words; empty if the job names no script. `script_args`: in place of the
/// script's own, or nullptr.
std::vector<std::string> launcher_line(
    const colossalai_spec& launch,
    const launch_options& options,
    const std::string& hostfile,
    const std::string& master_address,
    const std::vector<std::string>* script_args
);

/// The launcher's template; nothing, with the reason reported, if it cannot be made.
std::optional<type_template> make_launcher(
    compile_context& ctx,
    const colossalai_spec& launch,
    const launch_options& options,
    const type_template& worker
);

}  // namespace signalbox::core::launch
