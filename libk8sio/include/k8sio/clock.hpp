// SPDX-License-Identifier: Apache-2.0
//
// Time is injected: the same code runs on the machine's clocks and, in tests and simulations, in
// virtual time.
#pragma once

#include "k8sio/time.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

namespace signalbox::k8sio {

/// Time and timers of one event loop.
///
/// Lifetimes: destroy it before the loop, behind everything that was given it: coroutines that
/// still sleep on it are destroyed with it, and unwind through their executor.
/// Thread: the loop's only.
class clock {
public:
    using timer_id = std::uint64_t;

    virtual ~clock() = default;

    /// Never goes back; deadlines and delays are points on it (REQUIREMENTS.md R8).
    virtual steady_time steady_now() const = 0;
    /// The machine's idea of date and time; for logs, certificates and the embedded server.
    virtual wall_time wall_now() const = 0;

    /// Runs `callback` once on the loop at or after `at`, never from inside this call.
    ///
    /// Lifetimes: what `callback` refers to must live until then, or until cancel(). Destroying the
    /// clock drops pending ones.
    virtual timer_id schedule(steady_time at, std::function<void()> callback) = 0;
    /// After it the callback does not run, even if its time has come. Does nothing for an id that
    /// has run or was cancelled.
    virtual void cancel(timer_id id) = 0;
};

/// Suspends until `at`; a time in the past is due at once (in virtual time: at the next advance).
///
/// Lifetimes: `c` must outlive the wait.
/// Cancellation: any type; gives false, and true at the time.
boost::asio::awaitable<bool> sleep_until(clock& c, steady_time at);
/// The same, from now on.
///
/// Lifetimes: `c` must outlive the wait.
/// Cancellation: any type; gives false, and true at the time.
boost::asio::awaitable<bool> sleep_for(clock& c, std::chrono::nanoseconds duration);

/// The machine's clocks.
///
/// Thread: that of `executor`, whose context must be run by one thread.
std::unique_ptr<clock> make_machine_clock(boost::asio::any_io_executor executor);

/// Time that moves only when told. Timers due at the same time run in the order they were
/// scheduled. Callbacks are posted: they run when the loop is polled, not inside advance().
class virtual_clock final : public clock {
public:
    /// `start`: the first wall_now(). steady_now() begins at zero.
    virtual_clock(boost::asio::any_io_executor executor, wall_time start);
    ~virtual_clock() override;

    steady_time steady_now() const override { return now_; }
    wall_time wall_now() const override;
    timer_id schedule(steady_time at, std::function<void()> callback) override;
    void cancel(timer_id id) override;

    /// True if a timer is pending; only then may next_at() be asked, which is the earliest time.
    bool has_pending() const { return !timers_.empty(); }
    steady_time next_at() const { return timers_.begin()->first.first; }
    /// Moves to the earliest pending time and posts the callbacks that are due. False if none
    /// pends.
    bool advance_to_next();
    /// Moves forward by `duration`, posting everything due on the way (the caller polls the loop
    /// between steps when callbacks schedule further timers).
    void advance(std::chrono::nanoseconds duration);

private:
    void post_due();

    boost::asio::any_io_executor executor_;
    wall_time start_;
    steady_time now_{};
    timer_id next_id_ = 1;
    std::map<std::pair<steady_time, timer_id>, std::function<void()>> timers_;
    std::map<timer_id, steady_time> due_;
    std::shared_ptr<bool> alive_;  // callbacks that are posted but have not run ask it
};

}  // namespace signalbox::k8sio
