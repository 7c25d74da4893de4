// SPDX-License-Identifier: Apache-2.0
#include "protocol/dial.hpp"

#include <algorithm>

namespace signalbox::k8sio::protocol {

namespace {

/// "Connection Attempt Delay" of RFC 8305: longer than most round trips.
constexpr std::chrono::milliseconds next_attempt{250};

}  // namespace

std::vector<std::size_t> dial_order(const std::vector<dial_address>& addresses) {
    std::vector<std::size_t> order;
    for (const bool failed : {false, true}) {
        std::vector<std::size_t> first;
        std::vector<std::size_t> second;
        for (std::size_t i = 0; i < addresses.size(); ++i) {
            if (addresses[i].failed_lately == failed) {
                (addresses[i].v6 == addresses.front().v6 ? first : second).push_back(i);
            }
        }
        for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
            if (i < first.size()) {
                order.push_back(first[i]);
            }
            if (i < second.size()) {
                order.push_back(second[i]);
            }
        }
    }
    return order;
}

dial::step dial::next(steady_time now) {
    if (now >= until_) {
        return step::finish;
    }
    const bool more = started_ < count_;
    const bool hanging = started_ > failed_;
    if (more && (!hanging || now >= next_start_)) {
        ++started_;
        next_start_ = now + next_attempt;
        return step::start;
    }
    if (!hanging) {
        return step::finish;
    }
    wake_at_ = more ? std::min(next_start_, until_) : until_;
    return step::wait;
}

void dial::failed(steady_time now) {
    ++failed_;
    next_start_ = now;
}

}  // namespace signalbox::k8sio::protocol
