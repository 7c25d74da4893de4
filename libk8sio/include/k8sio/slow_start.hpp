// SPDX-License-Identifier: Apache-2.0
//
// How many requests of one batch may be in flight: 1, then twice as many per round trip up to a
// bound, so that a refusal that will repeat costs one request and not a thousand (REQUIREMENTS.md
// X12). No I/O, no clock.
#pragma once

#include <algorithm>
#include <cstddef>

namespace signalbox::k8sio {

/// Of one batch; each request started is reported once, as succeeded or failed.
class slow_start {
public:
    /// `bound`: at least 1.
    explicit slow_start(std::size_t bound) : bound_(std::max<std::size_t>(bound, 1)) {}
    /// A batch that no refusal is likely to meet: all of the bound from the beginning.
    static slow_start at_once(std::size_t bound) {
        slow_start out(bound);
        out.window_ = out.bound_;
        return out;
    }

    bool may_start() const { return !stopped_ && in_flight_ < window_; }
    /// Nothing is in flight.
    bool idle() const { return in_flight_ == 0; }
    std::size_t window() const { return window_; }

    void started() { ++in_flight_; }
    /// Each success makes room for one more: the window doubles per round trip.
    void succeeded() {
        --in_flight_;
        window_ = std::min(window_ + 1, bound_);
    }
    /// The rest of the batch may still be tried.
    void failed() { --in_flight_; }
    /// Nothing more is started.
    void stop() { stopped_ = true; }
    bool stopped() const { return stopped_; }

private:
    std::size_t bound_;
    std::size_t window_ = 1;
    std::size_t in_flight_ = 0;
    bool stopped_ = false;
};

}  // namespace signalbox::k8sio
