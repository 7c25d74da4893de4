// SPDX-License-Identifier: Apache-2.0
//
// Pods that are not wanted as they are: deleted; and where one is stuck, its replacement gets
// another name (BEHAVIOUR.md 1.3, 1.4, 5.7).
#include "engine/ledger.hpp"
#include "engine/pass.hpp"
#include "engine/pod_facts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::core::engine {
namespace {

/// The slot that a stuck pod keeps from being filled, if any.
slot* blocked_slot(pass& p, const left_over& l) {
    if (l.role == no_role || l.index >= p.view.roles[l.role].wanted()) {
        return nullptr;
    }
    slot& s = p.view.roles[l.role].slots[static_cast<std::size_t>(l.index)];
    return s.settled() || s.current != nullptr ? nullptr : &s;
}

/// A pod that a smaller size left out and that has ended: it stays until clean-up (7.2).
bool is_ended_surplus(const pass& p, const left_over& l) {
    if (l.older_attempt || l.role != no_role || !l.pod->labels_complete) {
        return false;
    }
    const auto role = std::ranges::find(p.plan.roles, l.pod->type, &role_plan::type);
    return role != p.plan.roles.end() && l.pod->index >= wanted_in_force(p.next, *role) &&
           end_of(*l.pod, role->training_container, p.now).has_value();
}

bool holds_name(const pass& p, const left_over& l, const slot& s) {
    const std::string wanted =
        pod_name(p.plan, {l.role, l.index, p.next.attempt, s.round, s.rename});
    return l.pod->name == wanted;
}

/// Gives the index of a stuck pod a new name in the record. False if the list is full.
bool record_rename(pass& p, const left_over& l) {
    restart_ledger& ledger = p.next.restarts;
    const std::string& type = p.plan.roles[l.role].type;
    const auto entry = std::ranges::find_if(ledger.renamed, [&](const renamed_index& r) {
        return r.type == type && r.index == l.index;
    });
    const auto limit = static_cast<std::size_t>(p.rules.renamed_in_status);
    if (entry == ledger.renamed.end() && ledger.renamed.size() >= limit) {
        return false;
    }
    const std::int32_t k = ++ledger.renames;
    if (entry == ledger.renamed.end()) {
        ledger.renamed.push_back({type, l.index, k});
    } else {
        entry->k = k;
    }
    return true;
}

action label_gone(const pod_record& pod) {
    action a;
    a.what = verb::patch;
    a.kind = object_kind::pod;
    a.name = pod.name;
    a.uid = pod.uid;
    a.body = fmt::format(
        R"({{"metadata":{{"uid":"{}","labels":{{"batch.tensorstack.dev/attempt":"gone"}}}}}})",
        pod.uid
    );
    a.why = "the pod is stuck in deletion: no Service may select it";
    a.rule = "behaviour 1.3";
    return a;
}

void await_stuck(pass& p, const pod_record& pod, milliseconds stuck_after) {
    if (stuck_after.count() > 0 && pod.deletion && *pod.deletion + stuck_after >= p.now) {
        // Stuck means strictly later than the bound, so a millisecond after it.
        p.await(*pod.deletion + stuck_after + milliseconds(1), awaited::stuck_pod);
    }
}

}  // namespace

action remove_pod(const pod_record& pod, std::string why, std::string_view rule) {
    action a;
    a.what = verb::remove;
    a.kind = object_kind::pod;
    a.name = pod.name;
    a.uid = pod.uid;
    a.why = std::move(why);
    a.rule = rule;
    return a;
}

bool replace_left_overs(pass& p) {
    stage actions;
    bool recorded = false;
    for (const left_over& l : p.view.left_overs) {
        if (is_ended_surplus(p, l)) {
            continue;
        }
        if (!l.pod->deletion) {
            actions.push_back(
                l.older_attempt
                    ? remove_pod(*l.pod, "the pod is of another attempt", "behaviour 5.7")
                    : remove_pod(*l.pod, "the pod is replaced or not wanted", "behaviour 5.7")
            );
            continue;
        }
        slot* s = blocked_slot(p, l);
        if (!l.stuck) {
            if (s != nullptr || l.older_attempt) {
                await_stuck(p, *l.pod, stuck_after_of(p));
            }
            continue;
        }
        if (s == nullptr) {
            continue;  // nobody waits for its name
        }
        if (holds_name(p, l, *s)) {
            recorded = record_rename(p, l) || recorded;
        } else {
            actions.push_back(label_gone(*l.pod));
        }
    }
    if (recorded) {
        return true;  // the next pass acts on the record
    }
    p.add_stage(std::move(actions));
    return false;
}

}  // namespace signalbox::core::engine
