// SPDX-License-Identifier: Apache-2.0
//
// Waiting inside one event loop: a flag that coroutines wait for, and slots that they share.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <deque>
#include <memory>

namespace signalbox::k8sio {

/// Wakes one waiting coroutine.
///
/// Lifetimes: it must outlive wait().
/// Thread: the loop's only.
class notification {
public:
    explicit notification(boost::asio::any_io_executor executor);
    /// One that no one waits for is kept for the next wait(), as one, however often it is called.
    void notify();
    /// Returns after notify(), at once if that was before. One coroutine at a time.
    ///
    /// Cancellation: none, so that a caller that waits for its children is not torn from them.
    boost::asio::awaitable<void> wait();

private:
    boost::asio::steady_timer timer_;  // never runs out; only cancelled
    bool pending_ = false;
};

/// A bound on what is done at a time: first come, first served.
///
/// Lifetimes: it must outlive acquire() and every holder.
/// Thread: the loop's only.
class semaphore {
public:
    /// Gives an acquired slot back at the end of the scope.
    class holder {
    public:
        explicit holder(semaphore& of) : of_(&of) {}
        ~holder() { of_->release(); }
        holder(const holder&) = delete;
        holder& operator=(const holder&) = delete;

    private:
        semaphore* of_;
    };

    /// At least one slot.
    semaphore(boost::asio::any_io_executor executor, std::size_t slots);
    /// Waits for a slot and takes it.
    ///
    /// Cancellation: none.
    boost::asio::awaitable<void> acquire();
    /// Once for each slot that was acquired.
    void release();
    std::size_t in_use() const { return in_use_; }

private:
    boost::asio::any_io_executor executor_;
    std::size_t slots_;
    std::size_t in_use_ = 0;
    std::deque<std::shared_ptr<notification>> waiting_;
};

}  // namespace signalbox::k8sio
