// SPDX-License-Identifier: Apache-2.0
//
// byte_stream over a socket of Asio, and how a TCP connection is made. For the connectors only.
#pragma once

#include "transport/byte_stream.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <sys/socket.h>

#include <cerrno>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace signalbox::k8sio {

namespace asio = boost::asio;

inline api_error network_error(
    errc code, std::string_view what, const boost::system::error_code& reason
) {
    return make_error(
        reason == asio::error::operation_aborted ? errc::cancelled : code,
        std::string(what) + ": " + reason.message()
    );
}

/// Makes sockets that are connected to config's host, through its proxy if it has one, with
/// keepalive (REQUIREMENTS.md T3, T4, T10).
class tcp_opener {
public:
    tcp_opener(
        asio::any_io_executor executor,
        clock& time,
        const cluster_config& config,
        const http_transport_options& options
    );
    /// Errors: resolve, connect, cancelled; nothing was sent.
    asio::awaitable<result<asio::ip::tcp::socket>> open(steady_time deadline);
    /// The peer of this socket is no good: other addresses go before it for a while.
    void avoid(const asio::ip::tcp::socket& socket);
    /// Server and proxy, for messages.
    std::string where() const;

private:
    using endpoints = std::vector<asio::ip::tcp::endpoint>;

    asio::awaitable<result<endpoints>> resolve(steady_time deadline);
    asio::awaitable<result<void>> ask_proxy(asio::ip::tcp::socket& socket, steady_time deadline);
    endpoints in_order(endpoints found);
    void avoid(const asio::ip::tcp::endpoint& endpoint);

    asio::any_io_executor executor_;
    clock* time_;
    std::string host_, port_;
    std::optional<proxy_server> proxy_;
    std::chrono::nanoseconds connect_timeout_;
    std::map<asio::ip::tcp::endpoint, steady_time> avoided_;
};

/// Neither bytes nor the end have come from the peer.
inline bool has_nothing_to_say(asio::ip::tcp::socket& socket) {
    char byte = 0;
    const auto count = ::recv(socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return count < 0 && errno == EAGAIN;
}

template <class Socket>
class asio_stream final : public byte_stream {
public:
    explicit asio_stream(Socket socket) : socket_(std::move(socket)) {}

    Socket& socket() { return socket_; }

    asio::awaitable<result<std::size_t>> read_some(char* data, std::size_t size) override {
        const asio::mutable_buffer buffer(data, size);
        auto [error, count] =
            co_await socket_.async_read_some(buffer, asio::as_tuple(asio::use_awaitable));
        if (error == asio::error::eof) {
            co_return std::size_t{0};
        }
        if (error) {
            co_return network_error(errc::connection_lost, "read", error);
        }
        co_return count;
    }

    asio::awaitable<result<std::size_t>> write_all(std::string_view bytes) override {
        const asio::const_buffer buffer(bytes.data(), bytes.size());
        auto [error, count] =
            co_await asio::async_write(socket_, buffer, asio::as_tuple(asio::use_awaitable));
        if (error) {
            co_return network_error(errc::connection_lost, "write", error);
        }
        co_return count;
    }

    void close() override {
        boost::system::error_code ignored;
        socket_.lowest_layer().close(ignored);
    }

    bool looks_alive() override { return has_nothing_to_say(socket_); }

private:
    Socket socket_;
};

}  // namespace signalbox::k8sio
