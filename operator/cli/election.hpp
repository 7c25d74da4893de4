// SPDX-License-Identifier: Apache-2.0
//
// The flags of leader election as the library takes them.
#pragma once

#include "cli/commands.hpp"

#include <k8sio/leader_election.hpp>

#include <optional>
#include <string>

namespace signalbox::op::cli {

/// Reads `flags` into `out`. `own_ns`: namespace of the pod it runs in; empty outside of one. Gives
/// what is wrong, with the flag's name, or nothing.
std::optional<std::string> read_election(
    const election_options& flags, const std::string& own_ns, k8sio::leader_election_options& out
);

}  // namespace signalbox::op::cli
