// SPDX-License-Identifier: Apache-2.0
//
// A job of one Python program: `signalbox dev train.py --nodes 2 --nproc 2`.
#pragma once

#include "commands/node_commands.hpp"
#include "kubelet/node/process_runtime.hpp"

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace signalbox::op::cli {

/// What is to be applied for the program, and what is to be said of it.
struct script_job {
    std::string name;      ///< of its manifest, in messages
    std::string manifest;  ///< JSON
    std::vector<std::string> notices;
};

/// The first positional word is a Python program.
bool names_program(const script_options& said);

/// What a program on the command line stands for, before anything else is read: pods that are
/// processes, their logs, an end. Words that are no program are manifests, as after `--apply`.
/// Nothing changes without such words.
void read_script_words(dev_options& options);

/// The job of `options.script`, which runs with torchrun. Adds to `process` the folder that the
/// pods work in, where what they write there may stay: it is the caller's, and neither the home
/// folder nor one that all share. Nothing if it cannot run; `err` gets what is wrong, and what to
/// do.
std::optional<script_job> make_script_job(
    const dev_options& options, kubelet::process_options& process, std::ostream& err
);

}  // namespace signalbox::op::cli
