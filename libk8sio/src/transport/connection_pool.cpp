// SPDX-License-Identifier: Apache-2.0
#include "transport/connection_pool.hpp"

#include <algorithm>
#include <utility>

namespace signalbox::k8sio {

namespace asio = boost::asio;

namespace {

/// Shorter than servers and load balancers keep them.
constexpr std::chrono::seconds keep_idle{60};

}  // namespace

pool_permit::~pool_permit() {
    if (pool_ != nullptr) {
        pool_->leave();
    }
}

stream_mark::stream_mark(connection_pool& pool) : pool_(&pool) {
    ++pool_->streams_;
    pool_->drop_old();
}

stream_mark::~stream_mark() {
    --pool_->streams_;
    pool_->drop_old();
}

asio::awaitable<result<pool_permit>> connection_pool::enter(steady_time deadline) {
    waiter self;
    if (in_flight_ < max_in_flight_) {
        ++in_flight_;
        co_return pool_permit(*this);
    }
    waiters_.push_back(&self);
    const wake_reason reason = co_await sleep_until(*time_, deadline, self.waker);
    if (self.granted) {
        // Also if the time came or it was cancelled in between: the caller finds out.
        co_return pool_permit(*this);
    }
    waiters_.erase(std::remove(waiters_.begin(), waiters_.end(), &self), waiters_.end());
    api_error error;
    // Not errc::timeout: nothing was sent.
    error.code = reason == wake_reason::cancelled ? errc::cancelled : errc::connect;
    error.message = "waiting for one of the requests in flight to end";
    co_return error;
}

void connection_pool::leave() {
    if (waiters_.empty()) {
        --in_flight_;
        return;
    }
    waiter* next = waiters_.front();
    waiters_.pop_front();
    next->granted = true;
    next->waker.wake();
}

std::unique_ptr<byte_stream> connection_pool::take_idle() {
    drop_old();
    while (!idle_.empty()) {
        std::unique_ptr<byte_stream> last = std::move(idle_.back().stream);
        idle_.pop_back();
        if (last->looks_alive()) {
            return last;
        }
    }
    return nullptr;
}

void connection_pool::give_back(std::unique_ptr<byte_stream> connection) {
    if (idle_.size() >= max_idle_ && !idle_.empty()) {
        idle_.erase(idle_.begin());
    }
    if (max_idle_ > 0) {
        idle_.push_back({std::move(connection), time_->steady_now()});
        drop_old();
    }
}

void connection_pool::drop_old() {
    const steady_time now = time_->steady_now();
    std::erase_if(idle_, [&](const idle_connection& c) { return now - c.since >= keep_idle; });
    const bool watched = !idle_.empty() && streams_ > 0;
    if (!watched) {
        time_->cancel(std::exchange(timer_, 0));
    } else if (timer_ == 0) {
        timer_ = time_->schedule(idle_.front().since + keep_idle, [this] {
            timer_ = 0;
            drop_old();
        });
    }
}

}  // namespace signalbox::k8sio
