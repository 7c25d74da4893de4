// SPDX-License-Identifier: Apache-2.0
//
// The program that the pods of an ssh job begin with: sshd on every worker, and on the deciding pod
// the launcher once all workers answer (LAUNCH.md 5.3, 9.1, 9.3).
#pragma once

#include <string_view>

namespace signalbox::core::launch {

/// A POSIX shell script, the same for every job. `bootstrap.sh worker` becomes sshd;
/// `bootstrap.sh launcher` runs the program of `run.sh`; `bootstrap.sh idle` sleeps. It reads its
/// neighbours in the ConfigMap:
///   settings.sh   assignments of the variables `sb_*` that it says it needs
///   run.sh        `set -- <program> <argument>...`
///   hostfile      one worker per line, its name first
///   env-shared    names of variables that are the same on every pod, one per line, for DeepSpeed's
///                 environment file
extern const std::string_view bootstrap_script;

}  // namespace signalbox::core::launch
