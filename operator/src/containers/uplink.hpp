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

    /// For the network namespace of a process. What is missing, or nothing.
    std::string start(pid_t node);
    void stop();
    /// Waits until packets go through, or never will.
    boost::asio::awaitable<void> settled();

private:
    unique_fd life_;  // slirp4netns ends when nobody has this open
    boost::asio::posix::stream_descriptor ready_;
    std::shared_ptr<event> settled_;
    pid_t pid_ = 0;
};

}  // namespace signalbox::op::containers
