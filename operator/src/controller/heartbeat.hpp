// SPDX-License-Identifier: Apache-2.0
//
// Signs of life of the thread that decides, for those that answer while it computes
// (REQUIREMENTS.md B9).
#pragma once

#include "k8sio/clock.hpp"

#include <atomic>
#include <chrono>

namespace signalbox::op {

/// Beats each second on the loop of its clock, until stop(). Thread: the loop's only, but for
/// age().
class heartbeat {
public:
    static constexpr std::chrono::seconds interval{1};

    /// `time` must outlive it.
    explicit heartbeat(k8sio::clock& time) : time_(&time), last_(time.steady_now()) {}

    void start() {
        last_ = time_->steady_now();
        timer_ = time_->schedule(last_.load() + interval, [this] { start(); });
    }
    void stop() { time_->cancel(timer_); }

    /// How long ago the last one was. From any thread; `now` by a steady clock of this process.
    std::chrono::nanoseconds age(k8sio::steady_time now) const { return now - last_.load(); }

private:
    k8sio::clock* time_;
    std::atomic<k8sio::steady_time> last_;
    k8sio::clock::timer_id timer_ = 0;
};

}  // namespace signalbox::op
