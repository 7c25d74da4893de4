// SPDX-License-Identifier: Apache-2.0
//
// What goes on over a WebSocket, apart from the socket.
#pragma once

#include "k8sio/error.hpp"

#include <boost/asio/awaitable.hpp>

#include <string>
#include <string_view>

namespace signalbox::k8sio::server {

/// An open WebSocket.
class message_socket {
public:
    virtual ~message_socket() = default;

    /// The next message, valid until the next call; one call at a time. Errors: connection_lost
    /// when the peer has left or breaks the protocol, too_large, cancelled.
    virtual boost::asio::awaitable<result<std::string_view>> read() = 0;
    /// One call at a time, beside read(). `message` lives until completion. Errors:
    /// connection_lost.
    virtual boost::asio::awaitable<result<void>> write(std::string_view message) = 0;
    /// Tells the peer that this is the end, and waits a few seconds for its answer. A read() that
    /// is pending ends.
    virtual boost::asio::awaitable<void> finish() = 0;
};

/// The server's side of what is spoken over one WebSocket.
class socket_session {
public:
    virtual ~socket_session() = default;

    /// The subprotocol that was chosen of those that the client offered.
    virtual const std::string& protocol() const = 0;
    /// Called once, when the socket is open; at its end nothing of the session goes on.
    virtual boost::asio::awaitable<void> run(message_socket& socket) = 0;
    /// The connection is gone: run() ends soon. May be called before it and again.
    virtual void stop() = 0;
};

}  // namespace signalbox::k8sio::server
