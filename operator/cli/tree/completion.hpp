// SPDX-License-Identifier: Apache-2.0
//
// Completion of command lines. The shells' scripts ask the program itself, which answers from the
// tree of commands: `signalbox __complete WORD...`, the last word being the one that is typed.
#pragma once

#include "cli/tree/command_tree.hpp"

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace signalbox::op::cli {

/// The words to complete, if the program was called for that: by the scripts, or by kubectl, for
/// which it has the name `kubectl_complete-signalbox`.
std::optional<std::vector<std::string>> words_to_complete(int argc, const char* const* argv);

/// Prints a line per candidate that begins as the last word does: the word, and behind a tab what
/// it means; then `:0` if names of files are candidates too, else `:4`. These are the words of
/// programs made with Cobra, which kubectl expects.
void complete(const command_tree& tree, const std::vector<std::string>& words, std::ostream& out);

}  // namespace signalbox::op::cli
