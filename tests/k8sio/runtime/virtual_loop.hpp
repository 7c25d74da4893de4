// SPDX-License-Identifier: Apache-2.0
//
// An event loop in virtual time: a test says how long to go on, nothing ever sleeps.
#pragma once

#include "k8sio/clock.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <exception>
#include <functional>

namespace signalbox::k8sio::test {

class virtual_loop {
public:
    virtual_loop() : time(loop.get_executor(), wall_time(std::chrono::seconds{1700000000})) {}

    /// Runs what is ready and moves time on until `done`; false if nothing is left to happen, or a
    /// day has passed.
    bool run_until(const std::function<bool()>& done) {
        const steady_time end = time.steady_now() + std::chrono::hours{24};
        for (;;) {
            settle();
            if (done()) {
                return true;
            }
            if (!time.has_pending() || time.next_at() > end) {
                return false;
            }
            time.advance_to_next();
        }
    }
    /// Runs what is ready; time stands still.
    void settle() {
        loop.restart();
        loop.poll();
    }
    void run_for(std::chrono::nanoseconds duration) {
        const steady_time end =
            time.steady_now() + std::chrono::duration_cast<steady_time::duration>(duration);
        settle();
        while (time.has_pending() && time.next_at() <= end) {
            time.advance_to_next();
            settle();
        }
        time.advance(end - time.steady_now());
        settle();
    }

    boost::asio::io_context loop;
    virtual_clock time;
};

/// A coroutine under way, with its end and its cancellation.
template <class T>
class task {
public:
    task(virtual_loop& loop, boost::asio::awaitable<T> work) {
        boost::asio::co_spawn(
            loop.loop,
            std::move(work),
            boost::asio::bind_cancellation_slot(
                signal_.slot(),
                [this](std::exception_ptr error, T value) {
                    failure = error;
                    result = std::move(value);
                    done = true;
                }
            )
        );
    }
    void cancel(boost::asio::cancellation_type type = boost::asio::cancellation_type::terminal) {
        signal_.emit(type);
    }

    bool done = false;
    std::exception_ptr failure;
    T result{};

private:
    boost::asio::cancellation_signal signal_;
};

template <>
class task<void> {
public:
    task(virtual_loop& loop, boost::asio::awaitable<void> work) {
        boost::asio::co_spawn(
            loop.loop,
            std::move(work),
            boost::asio::bind_cancellation_slot(
                signal_.slot(),
                [this](std::exception_ptr error) {
                    failure = error;
                    done = true;
                }
            )
        );
    }
    void cancel(boost::asio::cancellation_type type = boost::asio::cancellation_type::terminal) {
        signal_.emit(type);
    }

    bool done = false;
    std::exception_ptr failure;

private:
    boost::asio::cancellation_signal signal_;
};

/// Runs `work` to its end and gives its value; a default value if it does not end.
template <class T>
T run(virtual_loop& loop, boost::asio::awaitable<T> work) {
    task<T> running(loop, std::move(work));
    loop.run_until([&] { return running.done; });
    if (running.failure) {
        std::rethrow_exception(running.failure);
    }
    return std::move(running.result);
}

inline void run(virtual_loop& loop, boost::asio::awaitable<void> work) {
    task<void> running(loop, std::move(work));
    loop.run_until([&] { return running.done; });
    if (running.failure) {
        std::rethrow_exception(running.failure);
    }
}

}  // namespace signalbox::k8sio::test
