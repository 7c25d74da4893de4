// SPDX-License-Identifier: Apache-2.0
//
// The HTTP/1.1 face, by TLS if requests need a token.
#pragma once

#include "k8sio/error.hpp"
#include "server/faces/reception.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace signalbox::k8sio::server {

class http_face {
public:
    virtual ~http_face() = default;
    /// Binds and starts to accept; port 0 takes any free one. Gives the port.
    virtual result<std::uint16_t> listen(const std::string& address, std::uint16_t port) = 0;
    /// What clients trust, in PEM; empty without TLS. Only after listen().
    virtual const std::string& certificate() const = 0;
    /// Closes the listener and all connections at once.
    virtual void stop() = 0;
};

/// `door` must outlive stop().
std::shared_ptr<http_face> make_http_face(reception& door);

/// The text of api_server::kubeconfig. `token` and `certificate` may be empty.
std::string kubeconfig_for(
    const std::string& address,
    std::uint16_t port,
    const std::string& token,
    const std::string& certificate
);

}  // namespace signalbox::k8sio::server
