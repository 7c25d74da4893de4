// SPDX-License-Identifier: Apache-2.0
//
// The HTTP/1.1 face. Beast is included in http_face.cpp only.
#pragma once

#include "k8sio/error.hpp"
#include "server/reception.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace signalbox::k8sio::server {

class http_face {
public:
    virtual ~http_face() = default;
    /// Binds and starts to accept; port 0 takes any free one. Gives the port.
    virtual result<std::uint16_t> listen(const std::string& address, std::uint16_t port) = 0;
    /// Closes the listener and all connections at once.
    virtual void stop() = 0;
};

/// `door` must outlive stop().
std::shared_ptr<http_face> make_http_face(reception& door);

}  // namespace signalbox::k8sio::server
