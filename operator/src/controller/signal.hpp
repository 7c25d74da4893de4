// SPDX-License-Identifier: Apache-2.0
//
// Waiting inside one event loop: a flag that coroutines wait for, and slots that they share. Not
// thread-safe; neither can be cancelled, so that whoever waits for its children is not torn from
// them (style: fork only by constructs that join).
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <deque>
#include <memory>

namespace signalbox::op {

/// Woken by notify(). A notification without waiter is kept for the next one.
class notification {
public:
    explicit notification(boost::asio::any_io_executor executor);
    void notify();
    boost::asio::awaitable<void> wait();

private:
    boost::asio::steady_timer timer_;  // never runs out; only cancelled
    bool pending_ = false;
};

/// A bound on requests in flight over all jobs; first come, first served.
class slot_pool {
public:
    /// Gives an acquired slot back at the end of the scope.
    class holder {
    public:
        explicit holder(slot_pool& pool) : pool_(&pool) {}
        ~holder() { pool_->release(); }
        holder(const holder&) = delete;
        holder& operator=(const holder&) = delete;

    private:
        slot_pool* pool_;
    };

    slot_pool(boost::asio::any_io_executor executor, std::size_t slots);
    boost::asio::awaitable<void> acquire();
    void release();
    std::size_t in_use() const { return in_use_; }

private:
    boost::asio::any_io_executor executor_;
    std::size_t slots_;
    std::size_t in_use_ = 0;
    std::deque<std::shared_ptr<notification>> waiting_;
};

}  // namespace signalbox::op
