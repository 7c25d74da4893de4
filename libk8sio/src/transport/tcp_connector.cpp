// SPDX-License-Identifier: Apache-2.0
#include "transport/asio_stream.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>

namespace signalbox::k8sio {

namespace {

using tcp = asio::ip::tcp;

void set_option(tcp::socket& socket, int level, int name, int value) {
    ::setsockopt(socket.native_handle(), level, name, &value, sizeof(value));
}

/// T4: a dead peer is noticed within a minute without traffic. Options the system lacks are left
/// out.
void keep_alive(tcp::socket& socket) {
    boost::system::error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    socket.set_option(asio::socket_base::keep_alive(true), ignored);
#ifdef TCP_KEEPIDLE
    set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, 30);
    set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 10);
    set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
#endif
#ifdef TCP_USER_TIMEOUT
    set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, 60000);
#endif
}

class canceller {
public:
    explicit canceller(tcp::resolver& resolver) : resolver_(&resolver) {}
    void close() { resolver_->cancel(); }

private:
    tcp::resolver* resolver_;
};

class tcp_connector final : public connector {
public:
    explicit tcp_connector(tcp_opener opener) : opener_(std::move(opener)) {}

    asio::awaitable<result<std::unique_ptr<byte_stream>>> connect(steady_time deadline) override {
        auto socket = co_await opener_.open(deadline);
        if (socket.has_error()) {
            co_return std::move(socket).error();
        }
        std::unique_ptr<byte_stream> stream =
            std::make_unique<asio_stream<tcp::socket>>(std::move(*socket));
        co_return stream;
    }

private:
    tcp_opener opener_;
};

}  // namespace

tcp_opener::tcp_opener(
    asio::any_io_executor executor,
    clock& time,
    const cluster_config& config,
    const http_transport_options& options
)
    : executor_(std::move(executor)),
      time_(&time),
      host_(config.host),
      port_(config.port),
      connect_timeout_(options.connect_timeout) {}

std::string tcp_opener::where() const {
    return host_ + " port " + port_;
}

asio::awaitable<result<std::vector<tcp::endpoint>>> tcp_opener::resolve(steady_time deadline) {
    boost::system::error_code no_address;
    const asio::ip::address address = asio::ip::make_address(host_, no_address);
    std::vector<tcp::endpoint> found;
    if (!no_address) {
        found.emplace_back(address, static_cast<std::uint16_t>(std::stoul(port_)));
        co_return found;
    }
    tcp::resolver resolver(executor_);
    canceller guarded(resolver);
    deadline_guard guard(*time_, deadline, guarded);
    auto [error, entries] =
        co_await resolver.async_resolve(host_, port_, asio::as_tuple(asio::use_awaitable));
    if (error) {
        co_return guard.explain(network_error(errc::resolve, where(), error), "resolve " + host_);
    }
    for (const auto& entry : entries) {
        found.push_back(entry.endpoint());
    }
    co_return found;
}

asio::awaitable<result<tcp::socket>> tcp_opener::open(steady_time deadline) {
    const steady_time until = std::min(
        deadline,
        time_->steady_now() + std::chrono::duration_cast<steady_time::duration>(connect_timeout_)
    );
    auto endpoints = co_await resolve(until);
    if (endpoints.has_error()) {
        co_return std::move(endpoints).error();
    }
    tcp::socket socket(executor_);
    deadline_guard guard(*time_, until, socket);
    api_error last;
    last.code = errc::resolve;
    last.message = where() + ": no address";
    for (const tcp::endpoint& endpoint : *endpoints) {
        boost::system::error_code ignored;
        socket.close(ignored);
        auto [error] = co_await socket.async_connect(endpoint, asio::as_tuple(asio::use_awaitable));
        if (!error && !guard.fired()) {
            keep_alive(socket);
            co_return std::move(socket);
        }
        last = guard.explain(network_error(errc::connect, where(), error), "connect " + where());
        const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
        if (guard.fired() || state.cancelled() != asio::cancellation_type::none) {
            break;
        }
    }
    co_return last;
}

std::unique_ptr<connector> make_tcp_connector(
    asio::any_io_executor executor,
    clock& time,
    const cluster_config& config,
    const http_transport_options& options
) {
    return std::make_unique<tcp_connector>(tcp_opener(std::move(executor), time, config, options));
}

}  // namespace signalbox::k8sio
