// SPDX-License-Identifier: Apache-2.0
#include "k8sio/synchronization.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>

namespace signalbox::k8sio {

namespace asio = boost::asio;

notification::notification(asio::any_io_executor executor)
    : timer_(std::move(executor), asio::steady_timer::time_point::max()) {}

void notification::notify() {
    pending_ = true;
    timer_.cancel();
}

asio::awaitable<void> notification::wait() {
    const auto token = asio::as_tuple(asio::use_awaitable);
    while (!pending_) {
        co_await timer_.async_wait(token);
    }
    pending_ = false;
}

semaphore::semaphore(asio::any_io_executor executor, std::size_t slots)
    : executor_(std::move(executor)), slots_(std::max<std::size_t>(slots, 1)) {}

asio::awaitable<void> semaphore::acquire() {
    std::shared_ptr<notification> turn;
    if (in_use_ < slots_) {
        ++in_use_;
        co_return;
    }
    turn = std::make_shared<notification>(executor_);
    waiting_.push_back(turn);
    co_await turn->wait();  // release() hands its slot over
}

void semaphore::release() {
    if (waiting_.empty()) {
        --in_use_;
        return;
    }
    const auto next = waiting_.front();
    waiting_.pop_front();
    next->notify();
}

}  // namespace signalbox::k8sio
