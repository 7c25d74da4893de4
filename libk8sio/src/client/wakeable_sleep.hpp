// SPDX-License-Identifier: Apache-2.0
//
// A sleep that another part of the program may end early: the one building block for waiting.
#pragma once

#include "k8sio/clock.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>

namespace signalbox::k8sio {

enum class wake_reason {
    time,       ///< the time has come
    woken,      ///< wake() was called
    cancelled,  ///< the coroutine was cancelled
};

/// Must outlive the sleep that it is given to.
class sleep_waker {
public:
    /// Does nothing if no one sleeps.
    void wake() {
        if (wake_) {
            wake_();
        }
    }
    void set(std::function<void()> wake) { wake_ = std::move(wake); }

private:
    std::function<void()> wake_;
};

/// sleep_until() of clock.hpp that `waker` may end. `c` and `waker` must outlive it.
boost::asio::awaitable<wake_reason> sleep_until(clock& c, steady_time at, sleep_waker& waker);

}  // namespace signalbox::k8sio
