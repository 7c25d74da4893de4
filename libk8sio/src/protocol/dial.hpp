// SPDX-License-Identifier: Apache-2.0
//
// Connecting to a server with several addresses, some of them dead (REQUIREMENTS.md T3): the next
// is tried while the one before still hangs (RFC 8305). No sockets, no clock.
#pragma once

#include "k8sio/time.hpp"

#include <cstddef>
#include <vector>

namespace signalbox::k8sio::protocol {

/// What counts for the order in which addresses are tried.
class dial_address {
public:
    dial_address(bool v6_address, bool failed) : v6(v6_address), failed_lately(failed) {}
    bool v6;
    bool failed_lately;
};
/// Indices of `addresses` in the order to try them: families in turn, beginning with the first;
/// those that failed lately come last.
std::vector<std::size_t> dial_order(const std::vector<dial_address>& addresses);

/// When each of `count` attempts begins. Attempts are numbered as they begin.
class dial {
public:
    dial(std::size_t count, steady_time until) : count_(count), until_(until) {}

    enum class step {
        start,   ///< begin the next attempt, then next()
        wait,    ///< until wake_at(), or until an attempt ends
        finish,  ///< all have failed, or the time is up
    };
    step next(steady_time now);
    steady_time wake_at() const { return wake_at_; }
    /// An attempt that was begun has failed.
    void failed(steady_time now);

private:
    std::size_t count_;
    std::size_t started_ = 0;
    std::size_t failed_ = 0;
    steady_time until_;
    steady_time next_start_{};
    steady_time wake_at_{};
};

}  // namespace signalbox::k8sio::protocol
