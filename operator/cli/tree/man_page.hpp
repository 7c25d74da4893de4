// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/tree/command_tree.hpp"

#include <iosfwd>

namespace signalbox::op::cli {

/// signalbox(1) in the language of man(7): every command with its options and help text.
void print_man_page(const command_tree& tree, std::ostream& out);

}  // namespace signalbox::op::cli
