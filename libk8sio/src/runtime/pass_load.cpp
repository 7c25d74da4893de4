// SPDX-License-Identifier: Apache-2.0
#include "runtime/pass_load.hpp"

#include <utility>

namespace signalbox::k8sio {

pass_load::pass_load(load_function load_of, std::size_t max, group_function group_of)
    : load_of_(std::move(load_of)), max_(max), group_of_(std::move(group_of)) {}

bool pass_load::fits(const taken& more) const {
    const auto of_group = by_group_.find(more.group);
    const std::size_t held = of_group == by_group_.end() ? 0 : of_group->second;
    const bool group_fits = held == 0 || held + more.bytes <= max_ / 2;
    return group_fits && (all_ == 0 || all_ + more.bytes <= max_);
}

bool pass_load::begin(const std::string& key) {
    taken more{load_of_ ? load_of_(key) : 0, group_of_ ? group_of_(key) : std::string()};
    if (more.bytes == 0) {
        return true;
    }
    if (!fits(more)) {
        if (is_waiting_.insert(key).second) {
            waiting_.push_back(key);
        }
        return false;
    }
    all_ += more.bytes;
    by_group_[more.group] += more.bytes;
    running_.emplace(key, std::move(more));
    return true;
}

std::vector<std::string> pass_load::end(const std::string& key) {
    const auto found = running_.find(key);
    if (found == running_.end()) {
        return {};
    }
    all_ -= found->second.bytes;
    const auto group = by_group_.find(found->second.group);
    group->second -= found->second.bytes;
    if (group->second == 0) {
        by_group_.erase(group);
    }
    running_.erase(found);
    is_waiting_.clear();
    return std::exchange(waiting_, {});
}

void pass_load::forget(const std::string& key) {
    if (is_waiting_.erase(key) != 0) {
        std::erase(waiting_, key);
    }
}

}  // namespace signalbox::k8sio
