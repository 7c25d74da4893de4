// SPDX-License-Identifier: Apache-2.0
//
// The few requests to the kernel's routing socket that a pod network needs. Direct, as starting
// `ip` costs more than the whole sandbox.
#pragma once

#include "containers/unix.hpp"

#include <cstdint>
#include <string>

namespace signalbox::op::containers {

/// An IPv4 address, as the network has it in memory.
std::uint32_t parse_address(const std::string& text);

/// Talks to the network namespace that the process was in when it was made.
/// Errors: each call gives 0 or an errno.
class netlink {
public:
    netlink();

    int make_bridge(const std::string& name);
    /// A pair of links: `name` with interface index 2 here, `peer` in `peer_namespace`.
    int make_pair(const std::string& name, const std::string& peer, int peer_namespace);
    /// Joins a link to a bridge, and switches it on.
    int join(const std::string& link, int bridge);
    int set_up(int index, bool up);
    int set_up(const std::string& link, bool up);
    int add_address(int index, std::uint32_t address, std::uint8_t prefix);
    /// Requests for the addresses of others on this link are answered at once. The kernel would
    /// wait up to 0.8 s, and the file for that is not there in user namespaces.
    int answer_for_others_at_once(int index);
    int add_default_route(std::uint32_t gateway);

private:
    class request;

    unique_fd socket_;
};

}  // namespace signalbox::op::containers
