// SPDX-License-Identifier: Apache-2.0
//
// What the scheduler of a gang lets happen: whether its object can be made, whether pods can, and
// why those that are there do not start (BEHAVIOUR.md 8).
#include "gang/gang.hpp"

#include "engine/facts/chosen_scheduler.hpp"
#include "engine/view/children.hpp"
#include "engine/work/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace signalbox::core::engine {
namespace {

/// What the scheduler places the pods by, or null. Made before all others (2.1).
const planned_object* gang_object(const job_plan& plan) {
    const bool first = !plan.objects.empty() && plan.objects.front().kind->use == kind_use::gang;
    return first ? &plan.objects.front() : nullptr;
}

const child_record* gang_child(const context& c) {
    const planned_object* gang = gang_object(c.in.plan);
    return gang == nullptr ? nullptr : find_child(c.in, gang->kind, gang->name);
}

gang_answer answer_of(const child_record* object) {
    return object == nullptr || object->gang == nullptr ? gang_answer() : *object->gang;
}

/// Kinds of several groups may have one name: then the version says which is meant.
std::string name_of_kind(object_kind kind) {
    const auto kinds = all_child_kinds();
    const auto first =
        std::ranges::find(kinds, to_string(kind), [](object_kind k) { return to_string(k); });
    return first == kinds.end() || *first == kind
               ? fmt::format("{} objects", to_string(kind))
               : fmt::format("{} objects of {}", to_string(kind), api_version_of(kind));
}

/// The pods of wanted replicas that have not ended and do not go.
std::vector<const pod_record*> active_pods(const context& c) {
    std::vector<const pod_record*> out;
    for_each_replica(c.view, [&](std::size_t, std::int32_t, const replica_view& s) {
        const bool active =
            s.current != nullptr && !s.current->deletion &&
            (s.current->phase == pod_phase::pending || s.current->phase == pod_phase::running);
        if (active) {
            out.push_back(s.current);
        }
    });
    return out;
}

bool is_unplaced(const pod_record* pod) {
    return !pod->scheduled;
}

/// What no scheduler says: why it places none of these pods; empty if nothing tells.
std::string silent_hold(
    const context& c, const std::vector<const pod_record*>& pods, const gang_answer& says
) {
    const gang::silent_holds holds = c.in.plan.gang->by->holds;
    const auto odd = std::ranges::find_if(pods, [&](const pod_record* p) {
        return is_unplaced(p) && p->priority != says.priority.value_or(p->priority);
    });
    if (holds.by_priority && odd != pods.end()) {
        return fmt::format(
            "held: pod {} has priority {}, the group {}",
            (*odd)->name,
            (*odd)->priority,
            *says.priority
        );
    }
    const auto gated =
        std::ranges::find_if(pods, [](const pod_record* p) { return !p->gates.empty(); });
    if (holds.by_gate && gated != pods.end()) {
        return fmt::format("held: {}; the other pods wait for it", describe_gates(**gated));
    }
    const render_options options = render_options_of(c.status, c.in.plan);
    const std::int64_t needs = gang::state_of(c.in.plan, options).min_active;
    const auto there = static_cast<std::int64_t>(pods.size());
    if (holds.by_number && there < needs) {
        return fmt::format(
            "held: {} of the {} pods that have to start together are there", there, needs
        );
    }
    return {};
}

/// The pods are there, and tell by themselves whether they were placed.
void tell_of_unplaced(const context& c, work& out) {
    const auto pods = active_pods(c);
    if (std::ranges::none_of(pods, is_unplaced)) {
        return;
    }
    const planned_object* gang = gang_object(c.in.plan);
    const gang_answer says = answer_of(gang_child(c));
    if (auto hold = silent_hold(c, pods, says); !hold.empty()) {
        out.wait_for(wait_rank::gang_waits, reason::waiting_for_gang, std::move(hold));
    } else if (gang != nullptr && says.is == gang_answer::state::waiting && !says.words.empty()) {
        out.wait_for(
            wait_rank::gang_waits,
            reason::waiting_for_gang,
            fmt::format("{} {}: {}", to_string(gang->kind), gang->name, says.words)
        );
    }
}

void wait_for_answer(const context& c, wait_rank rank, const gang_answer& says, work& out) {
    const planned_object& gang = *gang_object(c.in.plan);
    std::string message = fmt::format("{} {} is not ready", to_string(gang.kind), gang.name);
    if (!says.words.empty()) {
        message += ": " + says.words;
    }
    out.wait_for(rank, reason::waiting_for_gang, std::move(message));
}

/// Some of an older attempt have not ended: they may still take the quota that they were given.
bool has_older_pods(const context& c) {
    return std::ranges::any_of(c.in.seen.pods, [&](const pod_record* pod) {
        const bool ended = pod->phase == pod_phase::succeeded || pod->phase == pod_phase::failed;
        return c.in.owns(*pod) && pod->attempt != c.status.attempt &&
               pod->attempt != gone_attempt && !ended;
    });
}

/// The time of the next look is no recorded fact, and shows nowhere.
void wait_for_discovery(const context& c, std::string message, work& out) {
    out.wake_ups.push_back({c.in.now + c.in.policy.capability_retry, std::nullopt});
    out.wait_for(wait_rank::gang_not_served, reason::waiting_for_pod_group, std::move(message));
}

}  // namespace

bool is_scheduler_chosen(const context& c, work& out) {
    if (is_compiled_for_other(c.in, c.status)) {
        out.wait_for(
            wait_rank::gang_not_served,
            reason::waiting_for_pod_group,
            "the job has to be read again: its status names another scheduler or queue"
        );
        return false;
    }
    if (!is_scheduler_open(c.status)) {
        return true;
    }
    // What can be chosen has been, by the rules.
    if (const auto choice = choose_scheduler(c.in);
        const auto* unknown = std::get_if<object_kind>(&choice)) {
        wait_for_discovery(
            c,
            fmt::format(
                "no scheduler is chosen before it is known whether the API server serves {}",
                name_of_kind(*unknown)
            ),
            out
        );
    }
    return false;
}

bool is_gang_served(const context& c, work& out) {
    const planned_object* gang = gang_object(c.in.plan);
    if (gang == nullptr || served_of(c.in.seen.served_kinds, gang->kind) == served::yes) {
        return true;
    }
    wait_for_discovery(
        c, fmt::format("the API server does not serve {}", name_of_kind(gang->kind)), out
    );
    return false;
}

bool lets_pods_in(const context& c, work& out) {
    const auto& gang = c.in.plan.gang;
    if (!gang || gang_object(c.in.plan) == nullptr) {
        return true;
    }
    const gang_answer says = answer_of(gang_child(c));
    const bool admitted = says.is == gang_answer::state::admitted;
    if (gang->by->tells == gang::admits::at_gates && !admitted) {
        wait_for_answer(c, wait_rank::gang_not_ready, says, out);
    }
    if (gang->by->tells == gang::admits::before_pods && !admitted) {
        wait_for_answer(c, wait_rank::gang_waits, says, out);
        return false;
    }
    return true;
}

void remove_other_gangs(const context& c, work& out) {
    const gang::scheduler* by = c.in.plan.gang ? c.in.plan.gang->by : nullptr;
    stage actions;
    for (const child_record* child : c.in.seen.children) {
        const bool of_other = child->kind->use == kind_use::gang && c.in.owns(*child) &&
                              !child->deleting && gang::scheduler_of(child->kind) != by;
        if (of_other) {
            actions.push_back(
                remove_child(*child, "another scheduler has the job now, or none", "behaviour 8.3")
            );
        }
    }
    if (actions.empty() || has_older_pods(c)) {
        return;
    }
    std::ranges::sort(actions, {}, [](const action& a) { return std::pair(a.name, a.kind); });
    out.add(std::move(actions));
}

void tell_of_gang(const context& c, work& out) {
    const gang::scheduler* by = c.in.plan.gang ? c.in.plan.gang->by : nullptr;
    if (by != nullptr && (by->tells == gang::admits::by_pods || by->holds.any())) {
        tell_of_unplaced(c, out);
    }
}

}  // namespace signalbox::core::engine
