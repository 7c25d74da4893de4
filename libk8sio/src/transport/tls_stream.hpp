// SPDX-License-Identifier: Apache-2.0
//
// TLS on a socket. asio::ssl::stream holds 68 KB of buffers for each connection, in use or not, and
// there are some dozens of connections: here OpenSSL reads and writes the socket itself, and has a
// buffer only while a record is on its way.
#pragma once

#include "transport/asio_stream.hpp"

#include <boost/asio/ssl/context.hpp>

#include <openssl/ssl.h>

#include <memory>

namespace signalbox::k8sio {

class tls_stream final : public byte_stream {
public:
    /// A client on a socket that is connected. May throw for lack of memory.
    tls_stream(asio::ip::tcp::socket socket, asio::ssl::context& context);
    tls_stream(const tls_stream&) = delete;
    tls_stream& operator=(const tls_stream&) = delete;

    asio::ip::tcp::socket& socket() { return socket_; }
    SSL* native_handle() { return ssl_.get(); }

    /// To be awaited before all else.
    asio::awaitable<boost::system::error_code> handshake();
    asio::awaitable<result<std::size_t>> read_some(char* data, std::size_t size) override;
    asio::awaitable<result<std::size_t>> write_all(std::string_view bytes) override;
    void close() override;
    bool looks_alive() override;

private:
    enum class step { handshake, read, write };
    struct ssl_free {
        void operator()(SSL* s) const { SSL_free(s); }
    };

    int take(step what, char* data, std::size_t size);
    asio::awaitable<boost::system::error_code> carry_out(
        step what, char* data, std::size_t size, std::size_t& done
    );

    asio::ip::tcp::socket socket_;  // OpenSSL has its address
    std::unique_ptr<SSL, ssl_free> ssl_;
};

}  // namespace signalbox::k8sio
