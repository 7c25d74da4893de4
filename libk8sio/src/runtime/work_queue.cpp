// SPDX-License-Identifier: Apache-2.0
#include "k8sio/work_queue.hpp"

#include "runtime/drop_idle.hpp"

#include <algorithm>
#include <utility>

namespace signalbox::k8sio {

work_queue::work_queue(backoff_policy policy, group_function group_of)
    : policy_(policy), group_of_(std::move(group_of)) {}

/// The turn that the next key of this one's group gets. A group that has not used its share of the
/// turns that are over gets none of them back: it begins with the current one.
std::uint64_t& work_queue::next_turn(const std::string& key) {
    drop_idle(next_turn_, drop_at_, [this](const auto& group) { return group.second <= turn_; });
    std::uint64_t& next = next_turn_[group_of_ ? group_of_(key) : std::string()];
    next = std::max(next, turn_);
    return next;
}

void work_queue::charge(const std::string& key, std::uint64_t more) {
    next_turn(key) += more;
}

void work_queue::add(const std::string& key, bool low_priority, steady_time now) {
    if (processing_.count(key) != 0) {
        dirty_.insert(key);  // Q1: it runs again after done()
        return;
    }
    const auto found = position_.find(key);
    if (found != position_.end()) {
        if (low_priority || ready_.count(found->second.at) != 0) {
            return;
        }
        ready_low_.erase(found->second.at);  // now wanted at normal priority
    }
    const turn at{next_turn(key)++, arrivals_++};
    position_[key] = place{at, now};
    (low_priority ? ready_low_ : ready_).emplace(at, key);
}

void work_queue::add_at(const std::string& key, steady_time at) {
    const auto [entry, fresh] = delayed_at_.try_emplace(key, at);
    if (!fresh) {
        if (entry->second <= at) {
            return;
        }
        delayed_.erase({entry->second, key});
        entry->second = at;
    }
    delayed_.emplace(at, key);
}

steady_time work_queue::add_rate_limited(const std::string& key, steady_time now, bool transient) {
    const int failures = failures_[key]++;
    const auto max = transient ? std::min(policy_.transient_max, policy_.max) : policy_.max;
    auto delay = std::min(policy_.initial, max);
    for (int i = 0; i < failures && delay < max; ++i) {
        delay = delay > max / 2 ? max : delay * 2;
    }
    const steady_time at = now + std::chrono::duration_cast<steady_time::duration>(delay);
    add_at(key, at);
    return at;
}

void work_queue::forget(const std::string& key) {
    failures_.erase(key);
}

void work_queue::drop(const std::string& key) {
    const auto found = position_.find(key);
    if (found != position_.end()) {
        ready_.erase(found->second.at);
        ready_low_.erase(found->second.at);
        position_.erase(found);
    }
    const auto delayed = delayed_at_.find(key);
    if (delayed != delayed_at_.end()) {
        delayed_.erase({delayed->second, key});
        delayed_at_.erase(delayed);
    }
    dirty_.erase(key);
    failures_.erase(key);
}

std::optional<std::string> work_queue::pop(steady_time now) {
    promote(now);
    auto& source = ready_.empty() ? ready_low_ : ready_;
    if (source.empty()) {
        return std::nullopt;
    }
    turn_ = std::max(turn_, source.begin()->first.first);
    std::string key = std::move(source.begin()->second);
    source.erase(source.begin());
    const auto known = position_.find(key);
    waited_since_.reset();
    if (known->second.since != steady_time()) {
        waited_since_ = known->second.since;
    }
    position_.erase(known);
    // The pass that starts now decides anew when to wake up (Q4).
    const auto delayed = delayed_at_.find(key);
    if (delayed != delayed_at_.end()) {
        delayed_.erase({delayed->second, key});
        delayed_at_.erase(delayed);
    }
    processing_.insert(key);
    return key;
}

void work_queue::done(const std::string& key, steady_time now) {
    processing_.erase(key);
    if (dirty_.erase(key) != 0) {
        add(key, false, now);
    }
}

std::optional<steady_time> work_queue::next_time() const {
    if (delayed_.empty()) {
        return std::nullopt;
    }
    return delayed_.begin()->first;
}

bool work_queue::idle() const {
    return ready_.empty() && ready_low_.empty() && processing_.empty();
}

void work_queue::promote(steady_time now) {
    while (!delayed_.empty() && delayed_.begin()->first <= now) {
        const auto [at, key] = *delayed_.begin();
        delayed_.erase(delayed_.begin());
        delayed_at_.erase(key);
        add(key, false, at);
    }
}

}  // namespace signalbox::k8sio
