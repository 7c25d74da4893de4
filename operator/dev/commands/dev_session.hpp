// SPDX-License-Identifier: Apache-2.0
//
// One run of `signalbox dev`, from what was prepared to its exit code.
#pragma once

#include "cli/check.hpp"
#include "commands/node_commands.hpp"
#include "http/listen_address.hpp"
#include "kubelet/node/process_runtime.hpp"
#include "manifests/duration.hpp"
#include "pods/scenario.hpp"

#include <jobcore/policy.hpp>

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace signalbox::op::cli {

/// What was prepared before anything was started.
struct dev_setup {
    dev_options options;
    listen_address listen;
    check_result objects;
    pods::scenario scenario;
    kubelet::process_options process;
    core::policy rules;
    std::vector<std::string> definitions;  ///< of custom resources that are there from the start
    std::vector<std::string> notices;      ///< about pods, for the user
    bool admits_workloads = false;         ///< a stand-in for Kueue does
    std::optional<duration> patience;      ///< with --until-finished
};

/// Serves, applies and shows until all has ended or somebody ends it. Gives the exit code.
int run_dev(dev_setup setup, std::ostream& out, std::ostream& err);

}  // namespace signalbox::op::cli
