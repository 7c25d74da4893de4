// SPDX-License-Identifier: Apache-2.0
//
// The commands of the local node in a program that has none, as that for a cluster.
#include "cli/cli.hpp"
#include "cli/print_line.hpp"
#include "cli/tree/registry.hpp"

#include <fmt/ostream.h>

#include <ostream>

namespace signalbox::op::cli {

namespace {

constexpr const char* lacks =
    "this is the program for a cluster: it has no local node and no API server of its own; "
    "`signalbox dev` is in the program for people (cmake option SIGNALBOX_DEV)";

void add_missing(command_tree& tree, const char* name, const char* what) {
    tree.add(
            tree.root(),
            name,
            what,
            "",
            [name](std::ostream&, std::ostream& err) {
                print_line(err, "signalbox {}: {}", name, lacks);
                return exit_refused;
            }
    ).prefix_command();
}

void add_dev(command_tree& tree) {
    add_missing(tree, "dev", "Not in this program: try jobs on this machine");
}

void add_pods(command_tree& tree) {
    add_missing(tree, "pods", "Not in this program: nodes and pods for any API server");
}

const registered_command missing_commands[] = {{"dev", 120, &add_dev}, {"pods", 150, &add_pods}};

}  // namespace

}  // namespace signalbox::op::cli
