// SPDX-License-Identifier: Apache-2.0
#include "engine/work/parts.hpp"

#include <algorithm>
#include <iterator>

namespace signalbox::core::engine {
namespace {

action remove(
    object_kind kind,
    const std::string& name,
    const std::string& uid,
    std::string why,
    std::string_view rule
) {
    return {kind, name, delete_object{uid}, {}, std::move(why), rule};
}

}  // namespace

action remove_pod(const pod_record& pod, std::string why, std::string_view rule) {
    return remove(object_kind::pod, pod.name, pod.uid, std::move(why), rule);
}

action remove_child(const child_record& child, std::string why, std::string_view rule) {
    return remove(child.kind, child.name, child.uid, std::move(why), rule);
}

std::vector<const pod_record*> surplus_pods(const context& c) {
    std::vector<const pod_record*> out;
    std::ranges::transform(c.view.left_overs, std::back_inserter(out), &left_over::pod);
    std::ranges::sort(out);
    return out;
}

action confirm(object_kind kind, std::string name, std::string why) {
    return {kind, std::move(name), confirm_absence{}, {}, std::move(why), "behaviour 5.3"};
}

void hold(action& a, instant t, instant now) {
    if (t > now) {
        a.not_before = std::max(a.not_before.value_or(t), t);
    }
}

void work::add(stage actions) {
    if (!actions.empty()) {
        stages.push_back(std::move(actions));
    }
}

void work::wait_for(wait_rank rank, reason why, std::string message) {
    if (!waits || rank < waits->rank) {
        waits = wait{rank, why, std::move(message)};
    }
}

}  // namespace signalbox::core::engine
