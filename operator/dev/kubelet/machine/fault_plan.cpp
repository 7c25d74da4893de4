// SPDX-License-Identifier: Apache-2.0
#include "kubelet/machine/fault_plan.hpp"

#include "pods/pod_facts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::op::kubelet {

bool fault_plan::begin(k8sio::steady_time now) {
    const auto* faults = std::get_if<pods::behaviour>(&state_);
    if (faults == nullptr) {
        return false;
    }
    schedule counted;
    add(counted, *faults, now);
    state_ = std::move(counted);
    return true;
}

void fault_plan::add(schedule& to, const pods::behaviour& faults, k8sio::steady_time now) {
    for (const pods::fault_setting& each : pods::fault_settings) {
        const std::optional<duration>& after = faults.*each.at;
        if (after && *after != never) {
            to.push_back({now + *after, each.what});
        }
    }
    std::ranges::stable_sort(to, {}, &timed::at);
}

std::vector<std::string> fault_plan::read(
    const string_map& before, const string_map& annotations, k8sio::steady_time now
) {
    std::vector<std::string> wrong;
    pods::behaviour fresh;
    auto* to_come = std::get_if<pods::behaviour>(&state_);
    for (const auto& [name, value] : annotations) {
        const auto old = before.find(name);
        const bool known = old != before.end() && old->second == value;
        if (known || !name.starts_with(pods::annotation_prefix)) {
            continue;
        }
        const std::string key = name.substr(pods::annotation_prefix.size());
        if (const auto why = pods::set(to_come != nullptr ? *to_come : fresh, key, value)) {
            wrong.push_back(fmt::format("{}: {}", name, *why));
        }
    }
    if (auto* counted = std::get_if<schedule>(&state_)) {
        add(*counted, fresh, now);
    }
    return wrong;
}

std::optional<k8sio::steady_time> fault_plan::wake() const {
    const auto* counted = std::get_if<schedule>(&state_);
    return counted == nullptr || counted->empty() ? std::nullopt
                                                  : std::optional(counted->front().at);
}

std::vector<fault> fault_plan::take_due(k8sio::steady_time now) {
    std::vector<fault> out;
    if (auto* counted = std::get_if<schedule>(&state_)) {
        const auto late =
            std::ranges::find_if(*counted, [&](const timed& t) { return t.at > now; });
        for (auto it = counted->begin(); it != late; ++it) {
            out.push_back(it->what);
        }
        counted->erase(counted->begin(), late);
    }
    return out;
}

}  // namespace signalbox::op::kubelet
