// SPDX-License-Identifier: Apache-2.0
//
// The tunnel through an HTTP proxy (REQUIREMENTS.md T10): what is asked of it, and its answer. No
// sockets.
#pragma once

#include "k8sio/cluster_config.hpp"

#include <string>
#include <string_view>

namespace signalbox::k8sio::protocol {

/// The bytes that ask `proxy` for a connection to `host`, an IPv6 address without brackets.
std::string connect_request(
    const proxy_server& proxy, const std::string& host, const std::string& port
);

/// Reads the answer, in pieces of any size.
class connect_answer {
public:
    enum class state {
        more,     ///< feed more bytes
        open,     ///< what follows is between us and the server; final
        refused,  ///< see failure(); final
    };
    state feed(std::string_view bytes);
    /// Why there is no connection, in words; what the proxy said is one line of it.
    const std::string& failure() const { return failure_; }

private:
    state fail(std::string why);

    std::string header_;
    std::string failure_;
};

}  // namespace signalbox::k8sio::protocol
