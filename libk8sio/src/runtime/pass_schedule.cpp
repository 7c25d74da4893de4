// SPDX-License-Identifier: Apache-2.0
#include "runtime/pass_schedule.hpp"

#include "runtime/drop_idle.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace signalbox::k8sio {

namespace {

/// After this number of passes in a row that all wrote something a key is slowed down: whatever it
/// is, it must not become a loop at full speed.
constexpr int many_writing_passes = 16;

}  // namespace

pass_schedule::pass_schedule(const controller_options& options)
    : queue_(options.backoff, options.group_of), load_(options), gather_(options.gather) {}

void pass_schedule::add_gathered(const std::string& key, steady_time now) {
    key_state& state = states_[key];
    if (state.in_pass) {
        state.changed_in_pass = true;  // how soon it is looked at depends on the pass
    } else {
        queue_change(key, state, now);
    }
}

void pass_schedule::queue_change(const std::string& key, const key_state& state, steady_time now) {
    queue_.add_at(key, std::max(now, earliest(state)));
}

/// When changes may be looked at.
steady_time pass_schedule::earliest(const key_state& state) const {
    const auto pause = std::chrono::duration_cast<steady_time::duration>(gather_);
    return std::max(state.last_pass + pause, state.slowed_until);
}

/// A state in which nothing is remembered is that of a key that was never seen (REQUIREMENTS.md
/// Q7).
void pass_schedule::drop_idle(steady_time now) {
    k8sio::drop_idle(states_, drop_at_, [&](const auto& entry) {
        const key_state& state = entry.second;
        return !state.in_pass && state.writing_passes == 0 && earliest(state) <= now;
    });
}

void pass_schedule::block(const std::string& key) {
    queue_.done(key);
    blocked_.insert(key);
    if (load_.forget(key)) {
        queue_waiting();
    }
}

void pass_schedule::queue_waiting() {
    for (const auto& [arrival, waiting] : load_.next()) {
        queue_.add(waiting.key, false, waiting.since);
    }
}

bool pass_schedule::may_begin(const std::string& key) {
    const bool may = load_.begin(key, queue_.waited_since().value_or(steady_time()));
    if (may) {
        queue_waiting();
    } else {
        queue_.done(key);
    }
    return may;
}

void pass_schedule::begin(const std::string& key, steady_time now) {
    drop_idle(now);
    key_state& state = states_[key];
    state.last_pass = now;
    state.in_pass = true;
}

bool pass_schedule::end(const std::string& key, const reconcile_result& result, steady_time now) {
    if (result.cost > 1) {
        queue_.charge(key, result.cost - 1);  // one turn was taken when it became ready
    }
    queue_.done(key, now);
    load_.end(key);
    queue_waiting();
    key_state& state = states_[key];
    state.in_pass = false;
    const bool changed = std::exchange(state.changed_in_pass, false);
    if (std::exchange(state.forgotten, false)) {
        if (changed) {
            queue_change(key, state, now);
        } else {
            states_.erase(key);
        }
        return false;
    }
    int& count = state.writing_passes;
    if (!result.behind) {
        count = result.requeue ? count + 1 : 0;
    }
    const bool endless = !result.behind && count >= many_writing_passes;
    // A wake-up that has passed and yet brought nothing would spin.
    const bool spinning =
        endless || (result.requeue_at && *result.requeue_at <= now && !result.requeue);
    if (result.behind) {
        blocked_.insert(key);
    } else if (result.failed || spinning) {
        const auto next = queue_.add_rate_limited(key, now, result.transient && !endless);
        state.slowed_until = endless ? next : steady_time{};
    } else {
        queue_.forget(key);
        state.slowed_until = {};
        if (result.requeue) {
            queue_.add(key, false, now);
        }
    }
    if (result.requeue_at && !spinning) {
        queue_.add_at(key, *result.requeue_at);
    }
    if (changed) {
        queue_change(key, state, now);
    }
    return endless && count == many_writing_passes;
}

void pass_schedule::release(const std::function<bool(const std::string& key)>& is_fresh) {
    std::vector<std::string> free;
    for (const std::string& key : blocked_) {
        if (is_fresh(key)) {
            free.push_back(key);
        }
    }
    std::sort(free.begin(), free.end());  // the order of a hash table must not show
    for (const std::string& key : free) {
        blocked_.erase(key);
        queue_.add(key);
    }
}

void pass_schedule::forget(const std::string& key) {
    queue_.drop(key);
    if (load_.forget(key)) {
        queue_waiting();
    }
    blocked_.erase(key);
    const auto found = states_.find(key);
    if (found == states_.end()) {
        return;
    }
    if (found->second.in_pass) {
        found->second = key_state{};
        found->second.in_pass = found->second.forgotten = true;
    } else {
        states_.erase(found);
    }
}

}  // namespace signalbox::k8sio
