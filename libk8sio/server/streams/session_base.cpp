// SPDX-License-Identifier: Apache-2.0
#include "server/streams/session_base.hpp"

#include <boost/asio/co_spawn.hpp>

#include <utility>

namespace signalbox::k8sio::server {

namespace asio = boost::asio;

session_base::session_base(asio::any_io_executor executor, std::string protocol)
    : executor_(std::move(executor)),
      protocol_(std::move(protocol)),
      writer_(executor_, 1),
      news_(executor_) {}

asio::awaitable<void> session_base::send_message(
    std::shared_ptr<session_base> self, message_socket& socket, std::string message
) {
    const std::string whole = std::move(message);
    asio::awaitable<void> turn = self->writer_.acquire();
    co_await std::move(turn);
    const semaphore::holder mine(self->writer_);
    if (self->gone_) {
        co_return;
    }
    asio::awaitable<result<void>> writing = socket.write(whole);
    const result<void> done = co_await std::move(writing);
    if (done.has_error()) {
        self->stop();
    }
}

void session_base::spawn(asio::awaitable<void> work, int& running) {
    ++running;
    asio::co_spawn(
        executor_,
        std::move(work),
        [self = shared_from_this(), &running](const std::exception_ptr&) {
            --running;
            self->news_.notify();
        }
    );
}

asio::awaitable<void> session_base::join(std::shared_ptr<session_base> self, const int& running) {
    notification& news = self->news_;
    while (running > 0) {
        asio::awaitable<void> ended = news.wait();
        co_await std::move(ended);
    }
}

}  // namespace signalbox::k8sio::server
