// SPDX-License-Identifier: Apache-2.0
//
// The name server of the pods, on a UDP socket.
#pragma once

#include "kubelet/names/dns_message.hpp"

#include <k8sio/clock.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>

namespace signalbox::op::kubelet {

class name_server_options {
public:
    name_server_options() = default;
    bool offline = false;
    /// IPv4 addresses of servers for other names, the first of which is asked.
    std::string uplink;
    std::uint16_t uplink_port = 53;
    std::chrono::nanoseconds patience = std::chrono::seconds{3};  ///< with the uplink
};

class name_server {
public:
    /// Takes over `socket`. `find` and `time` must outlive run().
    name_server(
        boost::asio::any_io_executor executor,
        k8sio::clock& time,
        int socket,
        name_lookup find,
        name_server_options options
    );
    ~name_server();

    /// Answers until stop(). Call once.
    boost::asio::awaitable<void> run();
    void stop();

private:
    class impl;
    std::shared_ptr<impl> impl_;
};

/// The first IPv4 address of a resolv.conf; empty if it has none.
std::string first_name_server(std::string_view resolver_file);

}  // namespace signalbox::op::kubelet
