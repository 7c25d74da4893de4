// SPDX-License-Identifier: Apache-2.0
//
// Slots that groups share inside one event loop (REQUIREMENTS.md Q11).
#pragma once

#include "k8sio/synchronization.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <deque>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

namespace signalbox::k8sio {

/// A bound on what is done at a time. A group takes no slot that would leave free fewer than it
/// has, so that another one finds some. Groups that wait take turns; within one it is first come,
/// first served.
///
/// Lifetimes: it must outlive acquire().
/// Thread: the loop's only.
class fair_slots {
public:
    /// At least one slot.
    fair_slots(boost::asio::any_io_executor executor, std::size_t slots);
    /// Waits for a slot and takes it.
    ///
    /// Cancellation: none.
    boost::asio::awaitable<void> acquire(std::string group);
    /// Once for each slot that was acquired, by its group.
    void release(const std::string& group);
    /// At least one slot. What was acquired stays so, though it be more than that.
    void resize(std::size_t slots);
    std::size_t in_use() const { return in_use_; }

private:
    struct member {
        std::size_t held = 0;
        std::deque<std::shared_ptr<notification>> line;
    };
    bool has_room_for(const member& one) const { return in_use_ + one.held < slots_; }
    void take(member& one);
    void hand_over();

    boost::asio::any_io_executor executor_;
    std::size_t slots_;
    std::size_t in_use_ = 0;
    std::unordered_map<std::string, member> groups_;  ///< that hold or wait
    std::list<std::string> turns_;                    ///< the groups that wait, each once
};

}  // namespace signalbox::k8sio
