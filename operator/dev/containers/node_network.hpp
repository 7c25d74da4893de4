// SPDX-License-Identifier: Apache-2.0
//
// The network of the node process, and the namespaces of sandboxes.
#pragma once

#include "containers/container_runtime.hpp"
#include "containers/netlink.hpp"
#include "containers/unix.hpp"

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace signalbox::op::containers {

/// Descriptors alone hold them: the kernel removes them, with link and address, when no process has
/// them open or runs in them.
struct sandbox_namespaces {
    std::string address;
    std::string link;  ///< the node's end; empty for one in the node's own network
    unique_fd network, host_name, ipc;
    unique_fd users;             ///< valid if the sandbox has users of its own
    std::uint32_t first_id = 0;  ///< of the machine, which is user and group 0 there
};

/// A bridge in the network namespace of the calling process, and links from it into sandboxes.
/// Thread: that of the process; it changes its namespaces for moments.
class node_network {
public:
    /// `prefix`: the first two numbers of all addresses.
    explicit node_network(std::string prefix);

    /// Once, first. What failed, or nothing.
    std::string start();
    const std::string& address() const { return address_; }
    /// The node's network namespace.
    unique_fd network() const;
    /// UDP, port 53 of address(). Invalid if it cannot be had.
    unique_fd name_server_socket() const;
    /// TCP, any free port of address(), listening. Invalid if it cannot be had.
    unique_fd service_socket() const;

    /// When the way to the outside is there.
    void uplink_is_there();

    result<sandbox_namespaces> make(const sandbox_spec& spec);
    void give_back(const std::string& address) { used_.erase(address); }
    void cut(const sandbox_namespaces& from, bool off);
    /// A TCP socket of a sandbox that connects, or is connected.
    result<unique_fd> connect(
        const sandbox_namespaces& from, const std::string& address, std::uint16_t port
    );

    /// Makes one sandbox ahead, which takes most of the time of make(). False if there are enough.
    bool make_spare();

private:
    class visit;
    result<sandbox_namespaces> make_nameless(bool host_network);
    std::string next_address();

    std::string prefix_;
    std::string address_;
    std::unique_ptr<netlink> links_;
    unique_fd network_, host_name_, ipc_;  // the node's own
    int bridge_ = 0;
    std::uint32_t last_ = 1;
    std::uint64_t links_made_ = 0;
    std::set<std::string> used_;
    std::deque<sandbox_namespaces> spare_;
};

}  // namespace signalbox::op::containers
