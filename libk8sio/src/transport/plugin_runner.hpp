// SPDX-License-Identifier: Apache-2.0
//
// Runs the program that gives credentials. For tests the interface has another body.
#pragma once

#include "k8sio/clock.hpp"
#include "protocol/exec_credential.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <memory>

namespace signalbox::k8sio {

class plugin_runner {
public:
    /// Kills what runs; its `done` is not called any more.
    virtual ~plugin_runner() = default;
    /// Starts the program without waiting for it, and calls `done` once at its end, never from
    /// inside this call. One at a time.
    virtual void start(
        const exec_plugin& plugin, std::function<void(const protocol::plugin_outcome&)> done
    ) = 0;
};

/// As a child process: without a terminal and in a process group of its own. `time` must outlive
/// it.
std::unique_ptr<plugin_runner> make_process_runner(
    boost::asio::any_io_executor executor, clock& time
);

}  // namespace signalbox::k8sio
