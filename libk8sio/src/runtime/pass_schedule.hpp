// SPDX-License-Identifier: Apache-2.0
//
// When a controller looks at which key: the queue, and what is remembered of each key between its
// passes. No I/O, no clock.
#pragma once

#include "k8sio/controller.hpp"
#include "k8sio/work_queue.hpp"
#include "runtime/pass_load.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace signalbox::k8sio {

class pass_schedule {
public:
    explicit pass_schedule(const controller_options& options);

    void add(const std::string& key, bool low_priority, steady_time now = steady_time()) {
        queue_.add(key, low_priority, now);
    }
    /// Something that belongs to the key has changed: see controller_options::gather.
    void add_gathered(const std::string& key, steady_time now);
    /// What the key named is gone.
    void forget(const std::string& key);

    /// The next key; begin() or block() must follow, or may_begin() has said no.
    std::optional<std::string> pop(steady_time now) { return queue_.pop(now); }
    /// The views do not show yet what was written for the key.
    void block(const std::string& key);
    /// False: the key waits until passes under way have ended.
    bool may_begin(const std::string& key);
    void begin(const std::string& key, steady_time now);
    /// True if the key begins to be slowed down, because its passes do not stop writing.
    bool end(const std::string& key, const reconcile_result& result, steady_time now);

    /// Queues the blocked keys that are fresh now.
    void release(const std::function<bool(const std::string& key)>& is_fresh);
    std::size_t blocked() const { return blocked_.size(); }

    std::optional<steady_time> next_time() const { return queue_.next_time(); }
    /// Keys that wait for nothing but their turn or a place.
    std::size_t ready() const { return queue_.ready_size() + load_.waiting(); }
    std::uint64_t arrivals() const { return queue_.arrivals(); }
    /// Of the key that pop() gave last; also what it has waited for a place.
    std::optional<steady_time> waited_since() const { return queue_.waited_since(); }
    /// Keys of which something is remembered.
    std::size_t remembered() const { return states_.size(); }

private:
    struct key_state {
        steady_time last_pass{};
        /// The key does not come to rest: changes are not looked at before.
        steady_time slowed_until{};
        int writing_passes = 0;  ///< in a row that wrote something
        bool in_pass = false;
        bool changed_in_pass = false;
        bool forgotten = false;  ///< while in a pass
    };

    void queue_waiting();
    void queue_change(const std::string& key, const key_state& state, steady_time now);
    steady_time earliest(const key_state& state) const;
    void drop_idle(steady_time now);

    work_queue queue_;
    pass_load load_;
    std::chrono::nanoseconds gather_;
    std::unordered_map<std::string, key_state> states_;
    std::size_t drop_at_ = 64;  ///< states; so that looking at all of them is rare
    /// Keys whose views are behind their own writes.
    std::unordered_set<std::string> blocked_;
};

}  // namespace signalbox::k8sio
