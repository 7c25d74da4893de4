// SPDX-License-Identifier: Apache-2.0
//
// A command's connection to a cluster, and its event loop.
#pragma once

#include "cli/commands.hpp"

#include <jobcore/time.hpp>
#include <k8sio/connect.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace signalbox::op::cli {

class cluster_session {
public:
    /// Nothing is sent yet. `ns`: the namespace that was asked for, if any. `patience`: of one
    /// request in all; 0: the client's usual one.
    cluster_session(
        const cluster_options& cluster,
        const std::string& ns,
        std::chrono::nanoseconds patience = std::chrono::nanoseconds{0}
    );

    /// Why there is no connection, or empty; then nothing below may be called.
    const std::string& problem() const { return problem_; }
    k8sio::client& api() { return connection_->api(); }
    /// The namespace that was asked for, else that of the context.
    const std::string& ns() const { return ns_; }
    /// As the server's answers tell it.
    core::instant server_time();
    boost::asio::io_context& loop() { return loop_; }

    /// Runs the loop until nothing is left to do; an exception of `task` comes out. Once.
    void run(boost::asio::awaitable<void> task);

private:
    boost::asio::io_context loop_{1};
    std::optional<k8sio::connection> connection_;
    std::string ns_;
    std::string problem_;
};

}  // namespace signalbox::op::cli
