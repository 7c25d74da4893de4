// SPDX-License-Identifier: Apache-2.0
//
// A connection that has become a WebSocket. Beast's code for that is in web_socket.cpp only.
#pragma once

#include "k8sio/clock.hpp"
#include "server/answers/socket_session.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include <functional>
#include <memory>
#include <variant>

namespace signalbox::k8sio::server {

/// A connection of the HTTP face.
class open_connection {
public:
    virtual ~open_connection() = default;
    /// At once; may be called again.
    virtual void close() = 0;
};

using tls_stream = boost::asio::ssl::stream<boost::asio::ip::tcp::socket>;
using server_stream = std::variant<boost::asio::ip::tcp::socket, tls_stream>;
using upgrade_request = boost::beast::http::request<boost::beast::http::string_body>;

/// Answers the upgrade in `request` and runs `session` on `stream`, beginning one step of the loop
/// later. `gone` is called once, with what was given here, before it is destroyed.
///
/// Lifetimes: `time` until close() was called or `gone` has been.
std::shared_ptr<open_connection> serve_web_socket(
    server_stream stream,
    upgrade_request request,
    std::shared_ptr<socket_session> session,
    clock& time,
    std::function<void(open_connection&)> gone
);

}  // namespace signalbox::k8sio::server
