// SPDX-License-Identifier: Apache-2.0
//
// Work queue without I/O or clock: a key is at most once in the queue, never processed twice at a
// time, and one added while it is processed runs again after; groups of keys get equal shares
// (REQUIREMENTS.md Q1-Q5, Q11).
#pragma once

#include "k8sio/time.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace signalbox::k8sio {

/// Delays of a key that fails: `initial`, doubled up to `max`; without jitter (REQUIREMENTS.md Q3,
/// R6).
class backoff_policy {
public:
    backoff_policy() = default;
    std::chrono::nanoseconds initial = std::chrono::milliseconds{5};
    std::chrono::nanoseconds max = std::chrono::minutes{5};
    /// The maximum while what fails may be over at any time.
    std::chrono::nanoseconds transient_max = std::chrono::seconds{30};
};

/// The group of a key, e.g. its namespace. It may change; what counts is the answer when the key
/// becomes ready and when its cost is charged.
using group_function = std::function<std::string(const std::string& key)>;

/// What a pass over the key takes while it runs, in bytes; 0 for what is not worth counting. Asked
/// when the pass is to begin.
using load_function = std::function<std::size_t(const std::string& key)>;

/// Keys are texts (UIDs or namespace/name). Those that are ready come in the order in which they
/// became so, within their group; the groups take turns, by what their keys cost (Q11). All times
/// are given by the caller and never wait: who owns the loop asks next_time(), arms a timer, and
/// calls pop() then. `controller` does that.
///
/// Thread: one.
class work_queue {
public:
    /// An empty `group_of`: all keys are of one group.
    explicit work_queue(
        backoff_policy policy = backoff_policy(), group_function group_of = group_function()
    );

    /// Makes the key ready now, or again after done() if it is in processing. `low_priority`:
    /// behind all ready keys of normal priority; a key of low priority rises if it is added
    /// normally (Q5). `now`: if it is known, it counts as the time from which the key waits.
    void add(const std::string& key, bool low_priority = false, steady_time now = steady_time());
    /// Makes the key ready at `at`; an earlier pending time is kept (Q2).
    void add_at(const std::string& key, steady_time at);
    /// add_at(now + the delay of this key), which doubles with each call until forget(). Gives
    /// that time. `transient`: see backoff_policy::transient_max.
    steady_time add_rate_limited(const std::string& key, steady_time now, bool transient = false);
    /// The key succeeded: its next delay is the first one again.
    void forget(const std::string& key);
    /// Drops the key everywhere but in processing, its delay too. One in processing still needs
    /// done().
    void drop(const std::string& key);

    /// The next key to process, or nothing. The key is then in processing until done(). A pending
    /// later time of the key is dropped: the pass that starts now decides anew (Q4).
    std::optional<std::string> pop(steady_time now);
    /// Since when the key that pop() gave last had been ready, if that is known.
    std::optional<steady_time> waited_since() const { return waited_since_; }
    /// To be called once for every key that pop() gave. `now` as of add().
    void done(const std::string& key, steady_time now = steady_time());
    /// The group of the key has used so much more than the turn it had, in turns.
    void charge(const std::string& key, std::uint64_t more);

    /// The earliest delayed key's time, perhaps in the past; nothing if there is none.
    std::optional<steady_time> next_time() const;
    /// Keys that pop() would give without any more time passing.
    std::size_t ready_size() const { return ready_.size() + ready_low_.size(); }
    /// How often a key became ready, since construction.
    std::uint64_t arrivals() const { return arrivals_; }
    /// Groups of which something is remembered: those that are behind, and a bounded number of
    /// others.
    std::size_t remembered_groups() const { return next_turn_.size(); }
    /// Nothing ready and nothing in processing; there may be delayed keys.
    bool idle() const;

private:
    /// Where a ready key stands: by the turn of its group, then by arrival.
    using turn = std::pair<std::uint64_t, std::uint64_t>;
    struct place {
        turn at;
        steady_time since;  ///< the epoch: not known
    };

    void promote(steady_time now);
    std::uint64_t& next_turn(const std::string& key);

    backoff_policy policy_;
    group_function group_of_;
    std::map<turn, std::string> ready_, ready_low_;
    std::unordered_map<std::string, place> position_;
    std::uint64_t turn_ = 0;  ///< of the key that was given last, the highest so far
    /// The turn that a group's next key gets, if it is not below turn_.
    std::unordered_map<std::string, std::uint64_t> next_turn_;
    std::size_t drop_at_ = 64;  ///< groups; so that looking at all of them is rare
    std::set<std::pair<steady_time, std::string>> delayed_;
    std::unordered_map<std::string, steady_time> delayed_at_;
    std::unordered_set<std::string> processing_, dirty_;
    std::unordered_map<std::string, int> failures_;
    std::uint64_t arrivals_ = 0;
    std::optional<steady_time> waited_since_;
};

}  // namespace signalbox::k8sio
