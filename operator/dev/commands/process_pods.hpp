// SPDX-License-Identifier: Apache-2.0
//
// Pods as processes of this machine, from what the command line says of them.
#pragma once

#include "commands/node_commands.hpp"
#include "kubelet/node/process_runtime.hpp"

#include <boost/asio/io_context.hpp>

#include <iosfwd>
#include <memory>
#include <optional>

namespace signalbox::op::cli {

/// The flags that pods without processes would ignore, joined for people; empty: none was given.
std::string flags_for_processes(const pod_process_options& options);

/// Reads the flags. `err` gets everything that is wrong at once, in the name of `command`.
std::optional<kubelet::process_options> read_process_options(
    const pod_process_options& options, const char* command, std::ostream& err
);

/// Makes the runtime, for which it runs `loop`. Null if this machine does not allow one; `err` gets
/// the reason.
std::unique_ptr<kubelet::process_runtime> start_process_pods(
    boost::asio::io_context& loop,
    k8sio::client& api,
    kubelet::process_options wanted,
    const char* command,
    std::ostream& err
);

}  // namespace signalbox::op::cli
