// SPDX-License-Identifier: Apache-2.0
//
// Pods that are not wanted as they are: deleted, and where one is stuck, taken out of every Service
// (BEHAVIOUR.md 1.3, 1.4, 5.7).
#include "engine/facts/ledger.hpp"
#include "engine/work/parts.hpp"
#include "jobcore/strings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace signalbox::core::engine {
namespace {

/// The replica that waits for this pod to go, or null.
const replica_view* waiting_replica(const context& c, const left_over& l) {
    const replica_view* s = c.find_replica(l.type, l.index);
    return s == nullptr || s->done() || s->current != nullptr ? nullptr : s;
}

/// A pod that a smaller size left out and that has ended: it stays until clean-up (7.2).
bool is_ended_surplus(const context& c, const left_over& l) {
    if (l.older_attempt || l.type != no_type || !l.pod->labels_complete) {
        return false;
    }
    const auto& types = c.in.plan.types;
    const auto type = std::ranges::find(types, l.pod->type, &type_plan::name);
    return type != types.end() && l.pod->index >= wanted_in_force(c.status, *type) &&
           end_of(*l.pod, type->training_container, c.in.now).has_value();
}

action label_gone(const pod_record& pod) {
    std::string body = fmt::format(
        R"({{"metadata":{{"uid":{},"labels":{{"batch.tensorstack.dev/attempt":"gone"}}}}}})",
        json_string(pod.uid)
    );
    return {
        object_kind::pod,
        pod.name,
        patch_object{pod.uid, std::move(body), std::nullopt},
        {},
        "the pod is stuck in deletion: no Service may select it",
        "behaviour 1.3"};
}

/// Stuck means strictly later than the bound, so a millisecond after it.
std::optional<instant> stuck_time(const context& c, const pod_record& pod) {
    const milliseconds bound = stuck_after(c.in.job.meta, c.in.policy);
    if (bound.count() == 0 || *pod.deletion + bound < c.in.now) {
        return std::nullopt;
    }
    return *pod.deletion + bound + milliseconds(1);
}

}  // namespace

void remove_left_overs(const context& c, work& out) {
    stage actions;
    for (const left_over& l : c.view.left_overs) {
        if (is_ended_surplus(c, l)) {
            continue;
        }
        const replica_view* waiting = waiting_replica(c, l);
        if (!l.pod->deletion) {
            actions.push_back(remove_pod(
                *l.pod,
                l.forged          ? "the pod is not what the operator makes"
                : l.older_attempt ? "the pod is of another attempt"
                                  : "the pod is replaced or not wanted",
                l.forged ? "behaviour 2.14" : "behaviour 5.7"
            ));
        } else if (l.stuck && waiting != nullptr && l.pod->name != c.name_of(l.type, l.index)) {
            actions.push_back(label_gone(*l.pod));
        } else if (!l.stuck && (waiting != nullptr || l.older_attempt)) {
            if (const auto t = stuck_time(c, *l.pod)) {
                out.wake_ups.push_back({*t, awaited::stuck_pod});
            }
        }
    }
    out.add(std::move(actions));
}

}  // namespace signalbox::core::engine
