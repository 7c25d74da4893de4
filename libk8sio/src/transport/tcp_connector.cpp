// SPDX-License-Identifier: Apache-2.0
#include "protocol/dial.hpp"
#include "protocol/proxy_tunnel.hpp"
#include "transport/asio_stream.hpp"
#include "transport/tcp_race.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>

namespace signalbox::k8sio {

namespace {

using tcp = asio::ip::tcp;

/// How long other addresses go before one that has failed.
constexpr std::chrono::seconds avoid_for{60};

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
      proxy_(config.proxy),
      connect_timeout_(options.connect_timeout) {}

std::string tcp_opener::where() const {
    const std::string server = host_ + " port " + port_;
    return proxy_ ? server + " by the proxy " + proxy_->host + " port " + proxy_->port : server;
}

asio::awaitable<result<tcp_opener::endpoints>> tcp_opener::resolve(steady_time deadline) {
    const std::string& host = proxy_ ? proxy_->host : host_;
    const std::string& port = proxy_ ? proxy_->port : port_;
    boost::system::error_code no_address;
    const asio::ip::address address = asio::ip::make_address(host, no_address);
    endpoints found;
    if (!no_address) {
        found.emplace_back(address, static_cast<std::uint16_t>(std::stoul(port)));
        co_return found;
    }
    tcp::resolver resolver(executor_);
    canceller guarded(resolver);
    deadline_guard guard(*time_, deadline, guarded);
    auto [error, entries] =
        co_await resolver.async_resolve(host, port, asio::as_tuple(asio::use_awaitable));
    if (error) {
        api_error failure = network_error(errc::resolve, where(), error);
        co_return guard.explain(std::move(failure), "no answer to " + host, errc::resolve);
    }
    for (const auto& entry : entries) {
        found.push_back(entry.endpoint());
    }
    co_return found;
}

tcp_opener::endpoints tcp_opener::in_order(endpoints found) {
    std::erase_if(avoided_, [this](const auto& each) {
        return time_->steady_now() - each.second >= avoid_for;
    });
    std::vector<protocol::dial_address> facts;
    for (const tcp::endpoint& each : found) {
        facts.emplace_back(each.address().is_v6(), avoided_.count(each) != 0);
    }
    endpoints sorted;
    for (const std::size_t index : protocol::dial_order(facts)) {
        sorted.push_back(found[index]);
    }
    return sorted;
}

void tcp_opener::avoid(const tcp::endpoint& endpoint) {
    avoided_[endpoint] = time_->steady_now();
}

void tcp_opener::avoid(const tcp::socket& socket) {
    boost::system::error_code unknown;
    const tcp::endpoint endpoint = socket.remote_endpoint(unknown);
    if (!unknown) {
        avoid(endpoint);
    }
}

asio::awaitable<result<void>> tcp_opener::ask_proxy(tcp::socket& socket, steady_time deadline) {
    const std::string request = protocol::connect_request(*proxy_, host_, port_);
    protocol::connect_answer answer;
    protocol::connect_answer::state state = protocol::connect_answer::state::more;
    std::string buffer(4096, '\0');
    const asio::mutable_buffer space(buffer.data(), buffer.size());
    deadline_guard guard(*time_, deadline, socket);
    auto [unsent, written] = co_await asio::async_write(
        socket, asio::buffer(request), asio::as_tuple(asio::use_awaitable)
    );
    boost::system::error_code failed = unsent;
    while (!failed && state == protocol::connect_answer::state::more) {
        auto [error, size] =
            co_await socket.async_read_some(space, asio::as_tuple(asio::use_awaitable));
        failed = error;
        state = failed ? state : answer.feed(std::string_view(buffer).substr(0, size));
    }
    if (failed || guard.fired()) {
        api_error error = network_error(errc::connect, where(), failed);
        co_return guard.explain(std::move(error), "no answer from the proxy", errc::connect);
    }
    if (state == protocol::connect_answer::state::refused) {
        co_return make_error(errc::connect, where() + ": " + answer.failure());
    }
    co_return result<void>();
}

asio::awaitable<result<tcp::socket>> tcp_opener::open(steady_time deadline) {
    const auto limit = std::chrono::duration_cast<steady_time::duration>(connect_timeout_);
    const steady_time until = std::min(deadline, time_->steady_now() + limit);
    auto found = co_await resolve(until);
    if (found.has_error()) {
        co_return std::move(found).error();
    }
    const endpoints sorted = in_order(std::move(*found));
    endpoints losers;
    auto socket = co_await connect_to_any(executor_, *time_, sorted, until, losers);
    for (const tcp::endpoint& loser : losers) {
        avoid(loser);
    }
    if (socket.has_error()) {
        api_error error = std::move(socket).error();
        error.message = where() + ": " + error.message;
        co_return error;
    }
    keep_alive(*socket);
    if (proxy_) {
        auto open = co_await ask_proxy(*socket, until);
        if (open.has_error()) {
            co_return std::move(open).error();
        }
    }
    co_return std::move(*socket);
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
