// SPDX-License-Identifier: Apache-2.0
#include "server/faces/web_socket.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/beast/websocket/ssl.hpp>

#include <chrono>
#include <utility>

namespace signalbox::k8sio::server {
namespace {

namespace beast = boost::beast;
namespace websocket = boost::beast::websocket;
using boost::system::error_code;

/// kubectl sends messages of some 32 KiB.
constexpr std::size_t message_limit = 1024 * 1024;
/// Of the opening and of the closing.
constexpr std::chrono::seconds handshake_limit{10};
/// Nothing is read while a process takes no input: only what is sent finds out that the client has
/// gone.
constexpr std::chrono::seconds ping_interval{15};

template <class Stream>
class socket_over final : public serving::open_connection,
                          public message_socket,
                          public std::enable_shared_from_this<socket_over<Stream>> {
public:
    socket_over(
        Stream stream,
        serving::upgrade_request request,
        std::shared_ptr<socket_session> session,
        clock& time,
        std::function<void(serving::open_connection&)> gone
    )
        : socket_(std::move(stream)),
          request_(std::move(request)),
          session_(std::move(session)),
          time_(&time),
          gone_(std::move(gone)),
          buffer_(message_limit) {
        websocket::stream_base::timeout limits;
        limits.handshake_timeout = handshake_limit;
        limits.idle_timeout = websocket::stream_base::none();
        limits.keep_alive_pings = false;
        socket_.set_option(limits);
        socket_.set_option(websocket::stream_base::decorator([protocol = session_->protocol(
                                                              )](websocket::response_type& answer) {
            answer.set(beast::http::field::sec_websocket_protocol, protocol);
        }));
        socket_.read_message_max(message_limit);
        socket_.binary(true);
        socket_.auto_fragment(false);
    }

    void start() {
        boost::asio::co_spawn(
            socket_.get_executor(), run(this->shared_from_this()), boost::asio::detached
        );
    }

    void close() override {
        if (std::exchange(closed_, true)) {
            return;
        }
        time_->cancel(timer_);
        session_->stop();
        error_code ignored;
        beast::get_lowest_layer(socket_).close(ignored);
        gone_(*this);
    }

    boost::asio::awaitable<result<std::string_view>> read() override {
        const auto token = boost::asio::as_tuple(boost::asio::use_awaitable);
        buffer_.clear();
        const auto done = co_await socket_.async_read(buffer_, token);
        const error_code error = std::get<0>(done);
        if (error == websocket::error::message_too_big ||
            error == websocket::error::buffer_overflow) {
            co_return make_error(errc::too_large, error.message());
        }
        if (error) {
            co_return make_error(errc::connection_lost, error.message());
        }
        const auto data = buffer_.cdata();
        co_return std::string_view(static_cast<const char*>(data.data()), data.size());
    }

    boost::asio::awaitable<result<void>> write(std::string_view message) override {
        const auto token = boost::asio::as_tuple(boost::asio::use_awaitable);
        const auto bytes = boost::asio::buffer(message.data(), message.size());
        const auto done = co_await socket_.async_write(bytes, token);
        const error_code error = std::get<0>(done);
        if (error) {
            close();
            co_return make_error(errc::connection_lost, error.message());
        }
        co_return result<void>();
    }

    boost::asio::awaitable<void> finish() override {
        const auto token = boost::asio::as_tuple(boost::asio::use_awaitable);
        time_->cancel(timer_);
        co_await socket_.async_close(websocket::close_code::normal, token);
        close();
    }

private:
    using self_ptr = std::shared_ptr<socket_over>;

    static boost::asio::awaitable<void> run(self_ptr self) {
        const auto token = boost::asio::as_tuple(boost::asio::use_awaitable);
        const auto done = co_await self->socket_.async_accept(self->request_, token);
        if (!std::get<0>(done) && !self->closed_) {
            self->arm_ping();
            boost::asio::awaitable<void> running = self->session_->run(*self);
            co_await std::move(running);
        }
        self->close();
    }

    void arm_ping() {
        const std::weak_ptr<socket_over> weak = this->weak_from_this();
        timer_ = time_->schedule(time_->steady_now() + ping_interval, [weak] {
            if (const self_ptr self = weak.lock()) {
                self->ping();
            }
        });
    }

    void ping() {
        socket_.async_ping({}, [self = this->shared_from_this()](error_code error) {
            if (error) {
                self->close();
            } else if (!self->closed_) {
                self->arm_ping();
            }
        });
    }

    websocket::stream<Stream> socket_;
    serving::upgrade_request request_;
    std::shared_ptr<socket_session> session_;
    clock* time_;
    std::function<void(serving::open_connection&)> gone_;
    beast::flat_buffer buffer_;
    clock::timer_id timer_ = 0;
    bool closed_ = false;
};

}  // namespace

std::shared_ptr<serving::open_connection> serve_web_socket(
    serving::taken_connection connection, std::shared_ptr<socket_session> session, clock& time
) {
    return std::visit(
        [&](auto& from) -> std::shared_ptr<serving::open_connection> {
            using stream_type = std::decay_t<decltype(from)>;
            auto made = std::make_shared<socket_over<stream_type>>(
                std::move(from),
                std::move(connection.request),
                std::move(session),
                time,
                std::move(connection.gone)
            );
            made->start();
            return made;
        },
        connection.stream
    );
}

}  // namespace signalbox::k8sio::server
