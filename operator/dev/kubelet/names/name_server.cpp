// SPDX-License-Identifier: Apache-2.0
#include "kubelet/names/name_server.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <array>
#include <map>

namespace signalbox::op::kubelet {

namespace {

namespace asio = boost::asio;
using boost::asio::ip::udp;

constexpr auto use_tuple = asio::as_tuple(asio::use_awaitable);
/// Forwarded queries under way; older ones give way.
constexpr std::size_t forward_limit = 512;

}  // namespace

class name_server::impl : public std::enable_shared_from_this<impl> {
public:
    impl(
        asio::any_io_executor executor,
        k8sio::clock& time,
        int socket,
        name_lookup find,
        name_server_options options
    )
        : time_(time),
          find_(std::move(find)),
          options_(std::move(options)),
          socket_(executor),
          uplink_(executor) {
        boost::system::error_code failed;
        socket_.assign(udp::v4(), socket, failed);
        const auto address = asio::ip::make_address_v4(options_.uplink, failed);
        if (options_.uplink.empty() || failed) {
            options_.offline = true;
            return;
        }
        uplink_.open(udp::v4(), failed);
        uplink_.connect(udp::endpoint(address, options_.uplink_port), failed);
        options_.offline = options_.offline || failed;
    }

    asio::awaitable<void> serve() {
        std::array<char, 1500> buffer{};
        udp::endpoint from;
        if (!options_.offline) {
            asio::co_spawn(socket_.get_executor(), receive(shared_from_this()), asio::detached);
        }
        while (!stopped_) {
            auto into = asio::buffer(buffer);
            const auto [failed, size] = co_await socket_.async_receive_from(into, from, use_tuple);
            if (failed == asio::error::operation_aborted || failed == asio::error::bad_descriptor) {
                break;
            }
            if (!failed) {
                handle(std::string_view(buffer.data(), size), from);
            }
        }
        stop();
    }

    void stop() {
        stopped_ = true;
        boost::system::error_code ignored;
        socket_.close(ignored);
        uplink_.close(ignored);
        for (const auto& [id, p] : pending_) {
            time_.cancel(p.timer);
        }
        pending_.clear();
    }

private:
    struct pending {
        std::string query, alias;
        udp::endpoint from;
        k8sio::clock::timer_id timer = 0;
    };

    /// Answers of the uplink.
    static asio::awaitable<void> receive(std::shared_ptr<impl> self) {
        std::array<char, 4096> buffer{};
        while (!self->stopped_) {
            auto into = asio::buffer(buffer);
            const auto [failed, size] = co_await self->uplink_.async_receive(into, use_tuple);
            if (failed == asio::error::operation_aborted || failed == asio::error::bad_descriptor) {
                break;
            }
            const std::string_view answer(buffer.data(), failed ? 0 : size);
            if (const auto id = id_of(answer)) {
                finish(*self, *id, answer);
            }
        }
    }

    static void finish(impl& self, std::uint16_t id, std::string_view answer) {
        const auto it = self.pending_.find(id);
        if (it == self.pending_.end()) {
            return;
        }
        const pending p = std::move(it->second);
        self.pending_.erase(it);
        self.time_.cancel(p.timer);
        self.send(forwarded_reply(p.query, p.alias, answer), p.from);
    }

    void handle(std::string_view query, const udp::endpoint& from) {
        dns_reply reply = answer_query(query, find_, options_.offline);
        switch (reply.what) {
            case dns_reply::kind::send:
                send(reply.message, from);
                break;
            case dns_reply::kind::forward:
                forward(std::string(query), std::move(reply), from);
                break;
            case dns_reply::kind::drop:
                break;
        }
    }

    void forward(std::string query, dns_reply reply, const udp::endpoint& from) {
        if (pending_.size() >= forward_limit) {
            finish(*this, pending_.begin()->first, {});
        }
        do {
            ++last_id_;
        } while (pending_.contains(last_id_));
        const std::uint16_t id = last_id_;
        pending p{std::move(query), std::move(reply.alias), from, 0};
        const std::weak_ptr<impl> self = weak_from_this();
        p.timer = time_.schedule(time_.steady_now() + options_.patience, [self, id] {
            if (const auto alive = self.lock()) {
                finish(*alive, id, {});
            }
        });
        pending_.emplace(id, std::move(p));
        boost::system::error_code failed;
        uplink_.send(asio::buffer(with_id(reply.message, id)), 0, failed);
        if (failed) {
            finish(*this, id, {});
        }
    }

    /// A datagram that does not go at once is lost, as in any network; it is asked for again.
    void send(const std::string& message, const udp::endpoint& to) {
        boost::system::error_code ignored;
        socket_.send_to(asio::buffer(message), to, 0, ignored);
    }

    k8sio::clock& time_;
    name_lookup find_;
    name_server_options options_;
    udp::socket socket_, uplink_;
    std::map<std::uint16_t, pending> pending_;
    std::uint16_t last_id_ = 0;
    bool stopped_ = false;
};

name_server::name_server(
    asio::any_io_executor executor,
    k8sio::clock& time,
    int socket,
    name_lookup find,
    name_server_options options
)
    : impl_(std::make_shared<impl>(executor, time, socket, std::move(find), std::move(options))) {}

name_server::~name_server() {
    impl_->stop();
}

asio::awaitable<void> name_server::run() {
    const std::shared_ptr<impl> self = impl_;
    co_await self->serve();
}

void name_server::stop() {
    impl_->stop();
}

std::string first_name_server(std::string_view resolver_file) {
    constexpr std::string_view key = "nameserver";
    while (!resolver_file.empty()) {
        const std::size_t end = std::min(resolver_file.find('\n'), resolver_file.size());
        std::string_view line = resolver_file.substr(0, end);
        resolver_file.remove_prefix(std::min(end + 1, resolver_file.size()));
        if (!line.starts_with(key)) {
            continue;
        }
        line.remove_prefix(key.size());
        const std::size_t start = line.find_first_not_of(" \t");
        if (start == std::string_view::npos || start == 0) {
            continue;
        }
        line = line.substr(start, line.find_first_of(" \t\r", start) - start);
        boost::system::error_code wrong;
        static_cast<void>(asio::ip::make_address_v4(line, wrong));
        if (!wrong) {
            return std::string(line);
        }
    }
    return {};
}

}  // namespace signalbox::op::kubelet
