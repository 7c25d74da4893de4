// SPDX-License-Identifier: Apache-2.0
#include "runtime/pass_load.hpp"

#include <cstddef>
#include <utility>

namespace signalbox::k8sio {

namespace {

bool has_room(std::size_t held, std::size_t more, std::size_t bound) {
    return more == 0 || held == 0 || held + more <= bound;
}

}  // namespace

pass_load::pass_load(const controller_options& options)
    : load_of_(options.load_of),
      group_of_(options.group_of),
      max_bytes_(options.max_load),
      max_passes_(options.max_concurrent_reconciles) {}

pass_load::taken pass_load::taken_by(const std::string& key) const {
    return {load_of_ ? load_of_(key) : 0, group_of_ ? group_of_(key) : std::string()};
}

/// Whatever the number of groups that have much to do, the next one finds a place: a group that has
/// some already leaves free at least as many.
bool pass_load::fits_group(const taken& more) const {
    const auto found = by_group_.find(more.group);
    if (!group_of_ || found == by_group_.end()) {
        return true;
    }
    const share& held = found->second;
    return has_room(held.bytes, more.bytes, max_bytes_ / 2) &&
           running_.size() + held.passes < max_passes_;
}

bool pass_load::fits(const taken& more) const {
    return has_room(all_bytes_, more.bytes, max_bytes_) && fits_group(more);
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

pass_load::line pass_load::next() const {
    line first;
    for (const auto& [name, keys] : waiting_) {
        if (fits(taken_by(keys.begin()->second.key))) {
            first.insert(*keys.begin());
        }
    }
    return first;
}

bool pass_load::forget(const std::string& key) {
    const auto found = place_.find(key);
    if (found == place_.end()) {
        return false;
    }
    const auto& [group, arrival] = found->second;
    const auto keys = waiting_.find(group);
    keys->second.erase(arrival);
    if (keys->second.empty()) {
        waiting_.erase(keys);
    }
    place_.erase(found);
    return true;
}

}  // namespace signalbox::k8sio
