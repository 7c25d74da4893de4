// SPDX-License-Identifier: Apache-2.0
//
// What a listener knows of its connections, and a connection that is given away.
#pragma once

#include "k8sio/http_listener.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <variant>

namespace signalbox::k8sio::serving {

/// A connection of a listener.
class open_connection {
public:
    virtual ~open_connection() = default;
    /// At once; may be called again.
    virtual void close() = 0;
    /// Since when it has waited for a request or a part of one; nothing: it does not.
    virtual std::optional<steady_time> waits_since() const { return std::nullopt; }
};

/// What the connections of one listener share. `time` and `handler` are valid as long as one of
/// them is open.
struct connections {
    clock* time = nullptr;
    http_limits limits;
    request_handler* handler = nullptr;
    std::set<open_connection*> open;

    void close_all();
    /// Makes room for one more if there is none. False: all are being answered.
    bool make_room();
};

using tls_stream = boost::asio::ssl::stream<boost::asio::ip::tcp::socket>;
using server_stream = std::variant<boost::asio::ip::tcp::socket, tls_stream>;
using upgrade_request = boost::beast::http::request<boost::beast::http::string_body>;

/// A connection that another protocol is spoken on from now on.
struct taken_connection {
    server_stream stream;
    upgrade_request request;  ///< not answered yet
    /// To be called once, before the open_connection made of this is destroyed.
    std::function<void(open_connection&)> gone;
};

/// Serves requests on `socket` until it is closed. `tls`: null for plain HTTP.
void serve_http(
    std::shared_ptr<connections> home,
    boost::asio::ip::tcp::socket socket,
    std::shared_ptr<boost::asio::ssl::context> tls
);

}  // namespace signalbox::k8sio::serving
