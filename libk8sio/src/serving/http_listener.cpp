// SPDX-License-Identifier: Apache-2.0
#include "k8sio/http_listener.hpp"

#include "k8sio/same_secret.hpp"
#include "serving/connection.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <utility>

#include <unistd.h>

namespace signalbox::k8sio {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

/// No descriptor is left, say: trying again at once would do nothing else.
constexpr std::chrono::milliseconds accept_pause{100};

}  // namespace

std::optional<served_answer> request_handler::refuse(const served_request&) {
    return std::nullopt;
}

served_answer request_handler::too_large() {
    served_answer out;
    out.status = 413;
    return out;
}

std::string_view bearer_token(const served_request& request) {
    constexpr std::string_view scheme = "Bearer ";
    const std::string_view sent = request.header("Authorization");
    return sent.starts_with(scheme) ? sent.substr(scheme.size()) : std::string_view();
}

bool bears_token(const served_request& request, std::string_view token) {
    return !token.empty() && same_secret(bearer_token(request), token);
}

bool may_be_from_web_page(const served_request& request) {
    if (request.find_header("Origin")) {
        return true;
    }
    std::string_view host = request.header("Host");
    if (host.substr(0, 1) == "[") {
        return false;
    }
    host = host.substr(0, host.find(':'));
    return host != "localhost" && host.find_first_not_of("0123456789.") != std::string_view::npos;
}

struct http_listener::impl : std::enable_shared_from_this<http_listener::impl> {
    impl(asio::any_io_executor on, clock& time, http_limits limits, request_handler& handler)
        : acceptor(std::move(on)), home(std::make_shared<serving::connections>()) {
        home->time = &time;
        home->limits = limits;
        home->handler = &handler;
    }

    error_code open(const tcp::endpoint& at);
    void accept();
    void accept_later();
    void take(tcp::socket socket);

    tcp::acceptor acceptor;
    std::shared_ptr<serving::connections> home;
    std::shared_ptr<asio::ssl::context> identity;
    clock::timer_id pause = 0;
    bool stopped = false;
};

error_code http_listener::impl::open(const tcp::endpoint& at) {
    error_code failed;
    acceptor.open(at.protocol(), failed);
    if (!failed) {
        acceptor.set_option(asio::socket_base::reuse_address(true), failed);
    }
    if (!failed) {
        acceptor.bind(at, failed);
    }
    if (!failed) {
        acceptor.listen(asio::socket_base::max_listen_connections, failed);
    }
    return failed;
}

void http_listener::impl::accept() {
    acceptor.async_accept([self = shared_from_this()](error_code failed, tcp::socket socket) {
        if (self->stopped) {
            return;
        }
        if (failed) {
            self->accept_later();
            return;
        }
        self->take(std::move(socket));
        if (!self->stopped) {
            self->accept();
        }
    });
}

void http_listener::impl::accept_later() {
    pause = home->time->schedule(
        home->time->steady_now() + accept_pause, [self = shared_from_this()] { self->accept(); }
    );
}

void http_listener::impl::take(tcp::socket socket) {
    home->handler->connecting();
    if (stopped || !home->make_room()) {
        return;
    }
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    serving::serve_http(home, std::move(socket), identity);
}

http_listener::http_listener(
    asio::any_io_executor executor, clock& time, http_limits limits, request_handler& handler
)
    : impl_(std::make_shared<impl>(std::move(executor), time, limits, handler)) {}

http_listener::~http_listener() {
    stop();
}

result<void> http_listener::use_identity(const std::string& certificate, const std::string& key) {
    auto made = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
    error_code failed;
    made->set_options(
        asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
            asio::ssl::context::no_tlsv1_1,
        failed
    );
    made->use_certificate_chain(asio::buffer(certificate), failed);
    if (failed) {
        return make_error(errc::tls, failed.message());
    }
    made->use_private_key(asio::buffer(key), asio::ssl::context::pem, failed);
    if (failed) {
        return make_error(errc::credentials, failed.message());
    }
    impl_->identity = std::move(made);
    return {};
}

result<std::uint16_t> http_listener::listen(const std::string& address, std::uint16_t port) {
    error_code failed;
    const asio::ip::address to = address.empty() ? asio::ip::address(asio::ip::address_v6::any())
                                                 : asio::ip::make_address(address, failed);
    if (failed) {
        return make_error(errc::invalid_argument, failed.message());
    }
    failed = impl_->open({to, port});
    if (failed == asio::error::address_family_not_supported && address.empty()) {
        failed = impl_->open({tcp::v4(), port});  // a machine without IPv6
    }
    const tcp::endpoint at = failed ? tcp::endpoint() : impl_->acceptor.local_endpoint(failed);
    if (failed) {
        error_code ignored;
        impl_->acceptor.close(ignored);
        return make_error(errc::connect, failed.message());
    }
    impl_->accept();
    return at.port();
}

result<std::uint16_t> http_listener::listen(int socket) {
    error_code failed;
    sockaddr_storage at{};
    socklen_t size = sizeof at;
    const bool known = ::getsockname(socket, reinterpret_cast<sockaddr*>(&at), &size) == 0;
    impl_->acceptor.assign(at.ss_family == AF_INET6 ? tcp::v6() : tcp::v4(), socket, failed);
    if (failed || !known) {
        ::close(socket);
        return make_error(errc::connect, failed ? failed.message() : "it is no socket");
    }
    const tcp::endpoint here = impl_->acceptor.local_endpoint(failed);
    if (failed) {
        error_code ignored;
        impl_->acceptor.close(ignored);
        return make_error(errc::connect, failed.message());
    }
    impl_->accept();
    return here.port();
}

std::string http_listener::address() const {
    error_code failed;
    const tcp::endpoint at = impl_->acceptor.local_endpoint(failed);
    const std::string host = at.address().to_string();
    return fmt::format("{}:{}", at.address().is_v6() ? "[" + host + "]" : host, at.port());
}

void http_listener::stop() {
    if (std::exchange(impl_->stopped, true)) {
        return;
    }
    impl_->home->time->cancel(impl_->pause);
    error_code ignored;
    impl_->acceptor.close(ignored);
    impl_->home->close_all();
}

}  // namespace signalbox::k8sio
