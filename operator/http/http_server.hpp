// SPDX-License-Identifier: Apache-2.0
//
// A server of HTTP that answers from memory: a token and a certificate in files.
#pragma once

#include <k8sio/clock.hpp>
#include <k8sio/http_listener.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <memory>
#include <string>

namespace signalbox::op {

struct http_question {
    std::string method;
    std::string path;   ///< percent-decoded, without the query
    std::string query;  ///< behind `?`, as it came
    std::string body;
    std::string bearer;          ///< the token that it came with; empty: none
    bool trusted = false;        ///< it has the token, if one is asked for
    bool from_web_page = false;  ///< perhaps: see k8sio::may_be_from_web_page()

    bool reads() const { return method == "GET" || method == "HEAD"; }
};

/// What is behind `/livez` or `/livez/`; nothing for another path.
std::optional<std::string_view> below(std::string_view path, std::string_view endpoint);

struct http_answer {
    unsigned status = 200;
    std::string content_type = "text/plain; charset=utf-8";
    std::string body;
};

http_answer plain_answer(unsigned status, std::string text);

/// Gives the answer at once; it must not throw.
using http_handler = std::function<http_answer(const http_question&)>;

struct http_server_options {
    std::string address;        ///< `127.0.0.1:8080`, `[::1]:8080`, `:8080` for all addresses
    std::string tls_cert_file;  ///< PEM; empty: plain HTTP
    std::string tls_key_file;
    std::string token_file;  ///< empty: everyone is trusted
    k8sio::http_limits limits{};
};

/// Certificate and token are read again when their
/// files change. Not thread-safe: everything happens on the executor's one thread.
///
/// Lifetimes: `time` must outlive stop().
class http_server {
public:
    http_server(
        boost::asio::any_io_executor executor,
        k8sio::clock& time,
        http_server_options options,
        http_handler handler
    );
    ~http_server();
    http_server(const http_server&) = delete;
    http_server& operator=(const http_server&) = delete;

    /// Begins to listen; gives why it cannot, or an empty text.
    std::string start();
    /// The same on a socket that listens already, and is this server's from now on; the address of
    /// the options is not looked at.
    std::string start(int socket);
    /// Where it listens, after start(): `127.0.0.1:8080`.
    std::string address() const;
    /// No more connections, and none of those that are open lasts.
    void stop();

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace signalbox::op
