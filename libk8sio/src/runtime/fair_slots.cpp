// SPDX-License-Identifier: Apache-2.0
#include "k8sio/fair_slots.hpp"

#include <algorithm>
#include <utility>

namespace signalbox::k8sio {

namespace asio = boost::asio;

fair_slots::fair_slots(asio::any_io_executor executor, std::size_t slots)
    : executor_(std::move(executor)), slots_(std::max<std::size_t>(slots, 1)) {}

void fair_slots::take(member& one) {
    ++in_use_;
    ++one.held;
}

asio::awaitable<void> fair_slots::acquire(std::string group) {
    member& own = groups_[group];
    if (has_room_for(own)) {
        take(own);
        co_return;
    }
    if (own.line.empty()) {
        turns_.push_back(group);
    }
    const auto turn = std::make_shared<notification>(executor_);
    own.line.push_back(turn);
    co_await turn->wait();  // hand_over() takes the slot
}

void fair_slots::release(const std::string& group) {
    const auto own = groups_.find(group);
    --in_use_;
    if (--own->second.held == 0 && own->second.line.empty()) {
        groups_.erase(own);
    }
    hand_over();
}

void fair_slots::resize(std::size_t slots) {
    slots_ = std::max<std::size_t>(slots, 1);
    hand_over();
}

/// Those that hold slots may have to wait on; they are at most as many as there are slots.
void fair_slots::hand_over() {
    for (auto turn = turns_.begin(); turn != turns_.end() && in_use_ < slots_;) {
        member& next = groups_.find(*turn)->second;
        if (!has_room_for(next)) {
            ++turn;
            continue;
        }
        take(next);
        next.line.front()->notify();
        next.line.pop_front();
        if (!next.line.empty()) {
            turns_.push_back(*turn);
        }
        turn = turns_.erase(turn);
    }
}

}  // namespace signalbox::k8sio
