// SPDX-License-Identifier: Apache-2.0
//
// Work queue without I/O or clock: a key is at most once in the queue, never processed twice at a
// time, and one added while it is processed runs again after (REQUIREMENTS.md Q1-Q4).
#pragma once

#include "k8sio/clock.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace signalbox::k8sio {

class backoff_policy {
public:
    backoff_policy() = default;
    std::chrono::nanoseconds initial = std::chrono::milliseconds{5};
    std::chrono::nanoseconds max = std::chrono::minutes{5};
};

/// Keys are texts (UIDs or namespace/name). All times are given by the caller.
class work_queue {
public:
    explicit work_queue(backoff_policy policy = backoff_policy());

    /// Makes the key ready now. `low_priority`: behind all ready keys of normal priority (Q5).
    void add(const std::string& key, bool low_priority = false);
    /// Makes the key ready at `at`; an earlier pending time is kept (Q2).
    void add_at(const std::string& key, steady_time at);
    /// add_at(now + exponential delay of this key); forget() resets the delay.
    void add_rate_limited(const std::string& key, steady_time now);
    void forget(const std::string& key);
    /// Drops the key everywhere but in processing.
    void drop(const std::string& key);

    /// The next key to process, or nothing. The key is then in processing until done(). A pending
    /// later time of the key is dropped: the pass that starts now decides anew (Q4).
    std::optional<std::string> pop(steady_time now);
    void done(const std::string& key);

    /// When pop() can next give something that is not ready now; nothing if no delayed key.
    std::optional<steady_time> next_time() const;
    std::size_t ready_size() const { return ready_.size() + ready_low_.size(); }
    /// Nothing ready and nothing in processing; there may be delayed keys.
    bool idle() const;

private:
    void promote(steady_time now);

    backoff_policy policy_;
    std::map<std::uint64_t, std::string> ready_, ready_low_;  // by arrival
    std::unordered_map<std::string, std::uint64_t> position_;
    std::set<std::pair<steady_time, std::string>> delayed_;
    std::unordered_map<std::string, steady_time> delayed_at_;
    std::unordered_set<std::string> processing_, dirty_;
    std::unordered_map<std::string, int> failures_;
    std::uint64_t arrivals_ = 0;
};

}  // namespace signalbox::k8sio
