// SPDX-License-Identifier: Apache-2.0
//
// What a person does about jobs of a cluster.
#include "cli/commands.hpp"
#include "cli/tree/groups.hpp"
#include "cli/tree/shared_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace signalbox::op::cli {

namespace {

constexpr const char* wait_footer = R"(
Waits until a job of a cluster has come as far as is asked, and says how it stands. NAME may be
KIND/NAME, with pj, dj, caij or the kind. Completed means ended, well or not.

Examples:
  signalbox wait mnist && scp ...
  signalbox wait pj/mnist -n team-a --for Running --timeout 10m

Exit codes: 0 it has come there; 1 it cannot come there any more: it ended otherwise, or was deleted;
2 there is no such job, or the cluster cannot be asked; 3 the time is up.)";

void add_wait(command_tree& tree) {
    auto [c, options] =
        tree.add(tree.root(), "wait", "Wait for a job in a cluster", wait_footer, &wait_for_job);
    add_target(c, options.target);
    c.add_option("--for", options.condition, fmt::format("{}", fmt::join(wait_conditions(), ", ")))
        ->check(CLI::IsMember(wait_conditions(), CLI::ignore_case))
        ->option_text("CONDITION [Succeeded]");
    c.add_option("--timeout", options.timeout, "At most this long: 30s, 10m, 2h; 0 looks once")
        ->type_name("TIME")
        ->capture_default_str();
    add_namespace(c, options.ns, context_namespace);
    add_cluster(c, options.cluster);
}

}  // namespace

void add_job_commands(command_tree& tree) {
    add_wait(tree);
}

}  // namespace signalbox::op::cli
