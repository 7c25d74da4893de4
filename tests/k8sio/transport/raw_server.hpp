// SPDX-License-Identifier: Apache-2.0
//
// A server on a real loopback port that sends exactly the bytes a test says, over TCP or TLS.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace signalbox::k8sio::test {

enum class after {
    keep,   ///< wait for the next request
    close,  ///< end in order (with close_notify on TLS)
    reset,  ///< RST
    quiet,  ///< say nothing more, read nothing more
};

class reply {
public:
    reply(std::string text, after then) : bytes(std::move(text)), next(then) {}
    std::string bytes;
    after next;
};

class raw_server {
public:
    /// What to answer to the header of a request on the connection of that number. With
    /// `behind_proxy` the first one of a connection is the proxy's, and TLS begins behind it.
    using handler = std::function<reply(int connection, const std::string& request)>;

    raw_server(
        boost::asio::io_context& loop,
        handler answer,
        std::shared_ptr<boost::asio::ssl::context> tls = nullptr,
        const char* address = "127.0.0.1",
        bool behind_proxy = false
    )
        : answer_(std::move(answer)),
          tls_(std::move(tls)),
          behind_proxy_(behind_proxy),
          acceptor_(loop, {boost::asio::ip::make_address(address), 0}) {
        accept();
    }

    std::string port() const { return std::to_string(acceptor_.local_endpoint().port()); }
    void stop() {
        boost::system::error_code ignored;
        acceptor_.close(ignored);
        for (const auto& s : sessions_) {
            s->socket.lowest_layer().close(ignored);
        }
    }

    /// Connections from now on are made with this.
    void rotate(std::shared_ptr<boost::asio::ssl::context> tls) {
        old_.push_back(std::exchange(tls_, std::move(tls)));
    }

    int connections = 0;
    std::vector<std::string> requests;
    std::vector<std::string> server_names;  ///< SNI of each TLS connection
    std::vector<std::string> client_names;  ///< subject of its client certificate

private:
    using tcp = boost::asio::ip::tcp;
    using error_code = boost::system::error_code;

    struct session {
        session(tcp::socket s, boost::asio::ssl::context& context, int n)
            : socket(std::move(s), context), number(n) {}
        boost::asio::ssl::stream<tcp::socket> socket;
        int number;
        bool proxied = false;
        std::string inbox;
        reply out{"", after::quiet};
    };
    using session_ptr = std::shared_ptr<session>;

    void accept() {
        acceptor_.async_accept([this](error_code error, tcp::socket socket) {
            if (error) {
                return;
            }
            auto made =
                std::make_shared<session>(std::move(socket), tls_ ? *tls_ : plain_, connections++);
            sessions_.push_back(made);
            tls_ && !behind_proxy_ ? shake_hands(made) : read(made);
            accept();
        });
    }
    void shake_hands(const session_ptr& s) {
        s->socket.async_handshake(
            boost::asio::ssl::stream_base::server,
            [this, s](error_code error) {
                SSL* handle = s->socket.native_handle();
                const char* name = SSL_get_servername(handle, TLSEXT_NAMETYPE_host_name);
                server_names.emplace_back(name == nullptr ? "" : name);
                if (!error) {
                    client_names.push_back(client_name(handle));
                    read(s);
                }
            }
        );
    }
    static std::string client_name(SSL* handle) {
        X509* peer = SSL_get0_peer_certificate(handle);
        if (peer == nullptr) {
            return {};
        }
        char text[256] = {};
        X509_NAME_oneline(X509_get_subject_name(peer), text, sizeof text);
        return text;
    }
    template <class Then>
    void with_stream(const session_ptr& s, Then then) {
        const bool encrypted = tls_ && (s->proxied || !behind_proxy_);
        encrypted ? then(s->socket) : then(s->socket.next_layer());
    }
    void read(const session_ptr& s) {
        with_stream(s, [&](auto& stream) {
            auto buffer = boost::asio::dynamic_buffer(s->inbox);
            boost::asio::async_read_until(
                stream,
                buffer,
                "\r\n\r\n",
                [this, s](error_code error, std::size_t size) {
                    if (!error) {
                        requests.push_back(s->inbox.substr(0, size));
                        s->inbox.erase(0, size);
                        s->out = answer_(s->number, requests.back());
                        write(s);
                    }
                }
            );
        });
    }
    void write(const session_ptr& s) {
        with_stream(s, [&](auto& stream) {
            boost::asio::async_write(
                stream,
                boost::asio::buffer(s->out.bytes),
                [this, s](error_code error, std::size_t) {
                    if (!error) {
                        go_on(s);
                    }
                }
            );
        });
    }
    void go_on(const session_ptr& s) {
        error_code ignored;
        switch (s->out.next) {
            case after::keep:
                if (tls_ && behind_proxy_ && !s->proxied) {
                    s->proxied = true;
                    shake_hands(s);
                } else {
                    read(s);
                }
                break;
            case after::close:
                if (tls_) {
                    s->socket.async_shutdown([s](error_code) {});
                } else {
                    s->socket.lowest_layer().shutdown(tcp::socket::shutdown_both, ignored);
                    s->socket.lowest_layer().close(ignored);
                }
                break;
            case after::reset:
                s->socket.lowest_layer().set_option(
                    boost::asio::socket_base::linger(true, 0), ignored
                );
                s->socket.lowest_layer().close(ignored);
                break;
            case after::quiet:
                break;
        }
    }

    handler answer_;
    std::shared_ptr<boost::asio::ssl::context> tls_;
    std::vector<std::shared_ptr<boost::asio::ssl::context>> old_;  // sessions refer to them
    bool behind_proxy_;
    boost::asio::ssl::context plain_{boost::asio::ssl::context::tls_server};
    tcp::acceptor acceptor_;
    std::vector<session_ptr> sessions_;
};

}  // namespace signalbox::k8sio::test
