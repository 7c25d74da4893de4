// SPDX-License-Identifier: Apache-2.0
#include "runtime/pass_load.hpp"

#include <utility>

namespace signalbox::k8sio {

pass_load::pass_load(const controller_options& options)
    : load_of_(options.load_of),
      group_of_(options.group_of),
      max_bytes_(options.max_load),
      max_passes_(options.max_concurrent_reconciles) {}

std::string pass_load::group_of(const std::string& key) const {
    return group_of_ ? group_of_(key) : std::string();
}

pass_load::taken pass_load::taken_by(const std::string& key) const {
    return {load_of_ ? load_of_(key) : 0, group_of(key)};
}

/// Whatever the number of groups that have much to do, the next one finds a place: a group that has
/// some already leaves free at least as many.
bool pass_load::fits_group(const taken& more) const {
    const auto found = by_group_.find(more.group);
    if (!group_of_ || found == by_group_.end()) {
        return true;
    }
    const share& held = found->second;
    const bool bytes_fit =
        more.bytes == 0 || held.bytes == 0 || held.bytes + more.bytes <= max_bytes_ / 2;
    return bytes_fit && running_.size() + held.passes < max_passes_;
}

bool pass_load::fits(const taken& more) const {
    const bool bytes_fit =
        more.bytes == 0 || all_bytes_ == 0 || all_bytes_ + more.bytes <= max_bytes_;
    return bytes_fit && fits_group(more);
}

void pass_load::add_waiting(const waiting_key& key, const std::string& group) {
    const auto [place, fresh] = place_.try_emplace(key.key, group, arrivals_);
    if (fresh) {
        waiting_[group].emplace(arrivals_++, key);
    }
}

bool pass_load::begin(const std::string& key, steady_time since) {
    taken more = taken_by(key);
    if (!fits(more)) {
        add_waiting({key, since}, more.group);
        return false;
    }
    forget(key);
    all_bytes_ += more.bytes;
    share& held = by_group_[more.group];
    ++held.passes;
    held.bytes += more.bytes;
    running_.emplace(key, std::move(more));
    return true;
}

std::optional<pass_load::waiting_key> pass_load::next_beside(const std::string& key) const {
    const auto found = waiting_.find(group_of(key));
    if (found == waiting_.end()) {
        return std::nullopt;
    }
    return found->second.begin()->second;
}

void pass_load::end(const std::string& key) {
    const auto found = running_.find(key);
    if (found == running_.end()) {
        return;
    }
    all_bytes_ -= found->second.bytes;
    const auto group = by_group_.find(found->second.group);
    group->second.bytes -= found->second.bytes;
    if (--group->second.passes == 0) {
        by_group_.erase(group);
    }
    running_.erase(found);
}

std::vector<pass_load::waiting_key> pass_load::next() const {
    line first;  // the order of a hash table must not show
    for (const auto& [name, keys] : waiting_) {
        if (fits(taken_by(keys.begin()->second.key))) {
            first.insert(*keys.begin());
        }
    }
    std::vector<waiting_key> out;
    for (auto& [arrival, waiting] : first) {
        out.push_back(std::move(waiting));
    }
    return out;
}

void pass_load::forget(const std::string& key) {
    const auto found = place_.find(key);
    if (found == place_.end()) {
        return;
    }
    const auto& [group, arrival] = found->second;
    const auto keys = waiting_.find(group);
    keys->second.erase(arrival);
    if (keys->second.empty()) {
        waiting_.erase(keys);
    }
    place_.erase(found);
}

}  // namespace signalbox::k8sio
