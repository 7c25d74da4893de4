// SPDX-License-Identifier: Apache-2.0
//
// A second thread for what must not wait while the first one computes: renewals of a Lease, probes
// (REQUIREMENTS.md B9).
#pragma once

#include "k8sio/clock.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>

namespace signalbox::k8sio {

/// Runs a loop on a thread of its own until it is destroyed.
///
/// Lifetimes: `loop` must outlive it. Destroy what runs on the loop behind it, or on its thread.
/// Thread: any one, which its destructor stops until the other thread has ended.
class loop_thread {
public:
    /// `run` runs the loop and handles what is thrown out of it; by default that ends the process.
    explicit loop_thread(boost::asio::io_context& loop, std::function<void()> run = {})
        : loop_(&loop),
          kept_(loop.get_executor()),
          thread_([&loop, run = std::move(run)] { run ? run() : static_cast<void>(loop.run()); }) {}
    ~loop_thread() {
        loop_->stop();
        thread_.join();
    }
    loop_thread(const loop_thread&) = delete;
    loop_thread& operator=(const loop_thread&) = delete;

private:
    boost::asio::io_context* loop_;
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> kept_;
    std::thread thread_;
};

/// Signs of life of a loop, for those on other threads: one each second until stop().
///
/// Lifetimes: the clock must outlive it.
/// Thread: the loop's only, but for age().
class heartbeat {
public:
    static constexpr std::chrono::seconds interval{1};

    explicit heartbeat(clock& time) : time_(&time), last_(time.steady_now()) {}

    void start() {
        last_ = time_->steady_now();
        timer_ = time_->schedule(last_.load() + interval, [this] { start(); });
    }
    void stop() { time_->cancel(timer_); }

    /// How long ago the last one was, at `now`. From any thread.
    std::chrono::nanoseconds age(steady_time now) const { return now - last_.load(); }

private:
    clock* time_;
    std::atomic<steady_time> last_;
    clock::timer_id timer_ = 0;
};

}  // namespace signalbox::k8sio
