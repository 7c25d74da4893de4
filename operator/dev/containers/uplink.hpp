// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "containers/node_link.hpp"
#include "containers/unix.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <sys/types.h>

#include <string>

namespace signalbox::op::containers {

/// The way of the node's network to the outside: slirp4netns, an IP stack in a process of the
/// user's, that needs no right and changes nothing on the machine. Ends with the main process.
class uplink {
public:
    explicit uplink(boost::asio::any_io_executor executor);
    ~uplink();

    /// For the network of the node process, which is told when packets go through.
    void start(pid_t node, std::shared_ptr<node_link> link);
    void stop();
    /// Waits until packets go through, or never will.
    boost::asio::awaitable<void> decided();
    /// What has turned out to be wrong, or nothing.
    const std::string& trouble() const { return state_->trouble; }

private:
    struct state {
        explicit state(boost::asio::any_io_executor executor) : decided(executor) {}
        event decided;
        std::string trouble;
    };
    unique_fd life_;  // slirp4netns ends when no process has this open
    boost::asio::posix::stream_descriptor ready_;
    std::shared_ptr<state> state_;
    pid_t pid_ = 0;
};

}  // namespace signalbox::op::containers
