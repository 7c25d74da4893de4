// SPDX-License-Identifier: Apache-2.0
#include "monitoring/http_server.hpp"

#include "monitoring/changing_file.hpp"
#include "monitoring/listen_address.hpp"

#include <k8sio/resource.hpp>
#include <k8sio/same_secret.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace signalbox::op {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::size_t most_connections = 64;
constexpr std::chrono::seconds patience{10};
constexpr std::chrono::seconds idle_patience{120};
constexpr std::uint32_t header_limit = 16 * 1024;
constexpr std::uint64_t body_limit = 1024;

using request_parser = http::request_parser<http::string_body>;
using response = http::response<http::string_body>;
using tls_stream = beast::ssl_stream<beast::tcp_stream>;

constexpr auto no_throw = asio::as_tuple(asio::use_awaitable);

std::string to_string(beast::string_view text) {
    return {text.data(), text.size()};
}

/// Editors end a file with a newline.
std::string_view without_end(std::string_view text) {
    return text.substr(0, text.find_last_not_of(" \r\n") + 1);
}

}  // namespace

struct http_server::impl : std::enable_shared_from_this<http_server::impl> {
    impl(asio::any_io_executor on, http_server_options settings, http_handler answers)
        : executor(on),
          options(std::move(settings)),
          handler(std::move(answers)),
          acceptor(on),
          certificate(options.tls_cert_file),
          key(options.tls_key_file),
          token(options.token_file) {}

    std::string start();
    std::string load_identity();
    asio::awaitable<void> accept_all();
    asio::awaitable<void> serve_plain(tcp::socket socket);
    asio::awaitable<void> serve_tls(tcp::socket socket, std::shared_ptr<asio::ssl::context> with);
    template <class Stream>
    asio::awaitable<void> serve(Stream& stream, beast::tcp_stream& below);
    response answer(const request_parser& parser);
    bool is_trusted(std::string_view authorization);

    asio::any_io_executor executor;
    http_server_options options;
    http_handler handler;
    tcp::acceptor acceptor;
    changing_file certificate;
    changing_file key;
    changing_file token;
    std::shared_ptr<asio::ssl::context> identity;
    std::set<beast::tcp_stream*> open;
    bool stopped = false;
};

std::string http_server::impl::load_identity() {
    auto made = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
    error_code failed;
    made->set_options(
        asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
            asio::ssl::context::no_tlsv1_1,
        failed
    );
    made->use_certificate_chain(asio::buffer(certificate.text()), failed);
    if (failed) {
        return fmt::format("{}: no certificate: {}", options.tls_cert_file, failed.message());
    }
    made->use_private_key(asio::buffer(key.text()), asio::ssl::context::pem, failed);
    if (failed) {
        return fmt::format(
            "{}: no key of the certificate: {}", options.tls_key_file, failed.message()
        );
    }
    identity = std::move(made);
    return {};
}

std::string http_server::impl::start() {
    const std::optional<listen_address> wanted = read_listen_address(options.address);
    if (!wanted) {
        return fmt::format("`{}` is not ADDRESS:PORT", options.address);
    }
    const auto& [host, port] = *wanted;
    if (options.tls_cert_file.empty() != options.tls_key_file.empty()) {
        return "a certificate and its key belong together";
    }
    for (changing_file* file : {&certificate, &key, &token}) {
        file->refresh();
        if (!file->problem().empty()) {
            return file->problem();
        }
    }
    if (!options.token_file.empty() && without_end(token.text()).empty()) {
        return fmt::format("{}: there is no token in it", options.token_file);
    }
    if (!options.tls_cert_file.empty()) {
        if (std::string wrong = load_identity(); !wrong.empty()) {
            return wrong;
        }
    }
    error_code failed;
    const asio::ip::address to =
        host.empty() ? asio::ip::address(asio::ip::address_v6::any())
                     : asio::ip::make_address(host == "localhost" ? "127.0.0.1" : host, failed);
    if (failed) {
        return fmt::format("`{}` is not ADDRESS:PORT", options.address);
    }
    tcp::endpoint at(to, port);
    acceptor.open(at.protocol(), failed);
    if (failed && host.empty()) {  // a machine without IPv6
        at = tcp::endpoint(tcp::v4(), port);
        acceptor.open(at.protocol(), failed);
    }
    if (!failed) {
        acceptor.set_option(tcp::acceptor::reuse_address(true), failed);
        acceptor.bind(at, failed);
    }
    if (!failed) {
        acceptor.listen(asio::socket_base::max_listen_connections, failed);
    }
    if (failed) {
        return fmt::format("cannot listen at {}: {}", options.address, failed.message());
    }
    const auto self = shared_from_this();
    asio::co_spawn(executor, accept_all(), [self](std::exception_ptr) {});
    return {};
}

asio::awaitable<void> http_server::impl::accept_all() {
    asio::steady_timer pause(executor);
    while (!stopped) {
        auto [failed, socket] = co_await acceptor.async_accept(no_throw);
        if (stopped) {
            co_return;
        }
        if (failed) {  // no more files, say
            pause.expires_after(std::chrono::milliseconds{100});
            co_await pause.async_wait(no_throw);
            continue;
        }
        if (open.size() >= most_connections) {
            continue;
        }
        const auto self = shared_from_this();
        const auto done = [self](std::exception_ptr) {};
        const bool other_certificate = certificate.refresh();
        const bool other_key = key.refresh();
        if (identity == nullptr) {
            asio::co_spawn(executor, serve_plain(std::move(socket)), done);
            continue;
        }
        if (other_certificate || other_key) {
            load_identity();  // one half of a new pair: the one before stays
        }
        asio::co_spawn(executor, serve_tls(std::move(socket), identity), done);
    }
}

asio::awaitable<void> http_server::impl::serve_plain(tcp::socket socket) {
    beast::tcp_stream stream(std::move(socket));
    open.insert(&stream);
    co_await serve(stream, stream);
    open.erase(&stream);
}

asio::awaitable<void> http_server::impl::serve_tls(
    tcp::socket socket, std::shared_ptr<asio::ssl::context> with
) {
    tls_stream stream(std::move(socket), *with);
    beast::tcp_stream& below = stream.next_layer();
    open.insert(&below);
    below.expires_after(patience);
    auto [failed] = co_await stream.async_handshake(asio::ssl::stream_base::server, no_throw);
    if (!failed) {
        co_await serve(stream, below);
        below.expires_after(patience);
        co_await stream.async_shutdown(no_throw);
    }
    open.erase(&below);
}

template <class Stream>
asio::awaitable<void> http_server::impl::serve(Stream& stream, beast::tcp_stream& below) {
    beast::flat_buffer buffer(header_limit + body_limit);
    bool more = true;
    while (more && !stopped) {
        request_parser parser;
        parser.header_limit(header_limit);
        parser.body_limit(body_limit);
        below.expires_after(idle_patience);
        auto [failed, size] = co_await http::async_read(stream, buffer, parser, no_throw);
        if (failed) {
            co_return;
        }
        response reply = answer(parser);
        more = reply.keep_alive();
        below.expires_after(patience);
        auto [unsent, written] = co_await http::async_write(stream, reply, no_throw);
        more = more && !unsent;
    }
}

bool http_server::impl::is_trusted(std::string_view authorization) {
    constexpr std::string_view scheme = "Bearer ";
    if (options.token_file.empty()) {
        return true;
    }
    token.refresh();
    const std::string_view wanted = without_end(token.text());
    return !wanted.empty() && authorization.starts_with(scheme) &&
           k8sio::same_secret(authorization.substr(scheme.size()), wanted);
}

response http_server::impl::answer(const request_parser& parser) {
    const auto& request = parser.get();
    http_question question;
    const std::string target = to_string(request.target());
    const std::size_t mark = std::min(target.find('?'), target.size());
    question.method = to_string(request.method_string());
    question.path = k8sio::percent_decode(target.substr(0, mark));
    question.query = target.substr(std::min(mark + 1, target.size()));
    question.body = request.body();
    question.trusted = is_trusted(to_string(request[http::field::authorization]));
    const http_answer given = handler(question);
    response out(http::int_to_status(given.status), request.version());
    out.set(http::field::content_type, given.content_type);
    out.set(http::field::cache_control, "no-cache, private");
    out.set("X-Content-Type-Options", "nosniff");
    if (given.status == 401) {
        out.set(http::field::www_authenticate, "Bearer");
    }
    out.keep_alive(request.keep_alive());
    if (request.method() == http::verb::head) {
        out.content_length(given.body.size());  // of what GET would give
    } else {
        out.body() = given.body;
        out.prepare_payload();
    }
    return out;
}

http_server::http_server(
    asio::any_io_executor executor, http_server_options options, http_handler handler
)
    : impl_(std::make_shared<impl>(std::move(executor), std::move(options), std::move(handler))) {}

http_server::~http_server() = default;

std::string http_server::start() {
    return impl_->start();
}

std::string http_server::address() const {
    error_code failed;
    const tcp::endpoint at = impl_->acceptor.local_endpoint(failed);
    const std::string host = at.address().to_string();
    return fmt::format("{}:{}", at.address().is_v6() ? "[" + host + "]" : host, at.port());
}

void http_server::stop() {
    impl_->stopped = true;
    error_code failed;
    impl_->acceptor.close(failed);
    for (beast::tcp_stream* stream : impl_->open) {
        stream->cancel();
    }
}

}  // namespace signalbox::op
