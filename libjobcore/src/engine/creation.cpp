// SPDX-License-Identifier: Apache-2.0
//
// What is missing of a running job is made: other objects first, then pods (BEHAVIOUR.md 2).
#include "engine/backoff.hpp"
#include "engine/objects.hpp"
#include "engine/pass.hpp"
#include "engine/pod_facts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::core::engine {
namespace {

/// A kind that the server does not serve (yet): no pod without its PodGroup (8.4). The time of the
/// next look is no recorded fact, and shows nowhere.
bool waits_for_pod_group(pass& p) {
    if (!p.plan.gang || p.seen.served_kinds.pod_group == served::yes) {
        return false;
    }
    p.await(p.now + p.rules.capability_retry);
    p.wait_for(reason::waiting_for_pod_group, "the API server does not serve PodGroup objects");
    return true;
}

/// Which stage of pods may be created now: a later one only when all of the one before are Ready.
bool stage_is_open(const pass& p, std::size_t number) {
    if (number == 0) {
        return true;
    }
    for (const std::size_t role : p.plan.pod_stages[number - 1]) {
        const auto& slots = p.view.roles[role].slots;
        const bool all_ready = !slots.empty() && std::ranges::all_of(slots, [](const slot& s) {
            return s.current != nullptr && s.current->ready && !s.current->deletion;
        });
        if (!all_ready) {
            return false;
        }
    }
    return stage_is_open(p, number - 1);
}

std::vector<bool> open_roles(pass& p) {
    std::vector<bool> open(p.plan.roles.size(), p.plan.pod_stages.empty());
    for (std::size_t s = 0; s < p.plan.pod_stages.size(); ++s) {
        const bool is_open = stage_is_open(p, s);
        for (const std::size_t role : p.plan.pod_stages[s]) {
            open[role] = is_open;
        }
        p.workers_awaited = p.workers_awaited || !is_open;
    }
    return open;
}

/// One quota refusal holds all pods of the job (2.8).
std::optional<instant> quota_hold(pass& p) {
    std::optional<instant> until;
    for (const refusal& r : p.seen.refusals) {
        if (r.kind == object_kind::pod && is_quota(r)) {
            const instant t =
                r.last + doubled(p.rules.quota_retry, r.count - 1, p.rules.quota_retry_max);
            until = std::max(until.value_or(t), t);
            p.wait_for(reason::quota_exceeded, cut_message(r.message));
        }
    }
    return until;
}

/// Whether the restart delay holds this index (5.8).
bool held_by_delay(pass& p, const slot& s) {
    const auto& last = p.next.restarts.last;
    if (!last || !last->not_before || *last->not_before <= p.now) {
        return false;
    }
    // A resize may have begun another attempt since: the delay stands (7.4, 5.8).
    if (last->scope == restart_scope::replica && s.round == 0) {
        return false;
    }
    p.await(*last->not_before, awaited::restart_delay);
    p.wait_for(reason::restart_delay, "the restart waits for its delay to pass");
    return true;
}

/// Names of pods labelled `gone`, sorted: they may still be held.
std::vector<std::string_view> held_names(const pass& p) {
    std::vector<std::string_view> names;
    for (const pod_record* pod : p.view.gone) {
        names.push_back(pod->name);
    }
    std::ranges::sort(names);
    return names;
}

/// Refusals of pods whose name another owner's object has, sorted by name.
std::vector<const refusal*> name_conflicts(const pass& p) {
    std::vector<const refusal*> out;
    for (const refusal& r : p.seen.refusals) {
        if (r.kind == object_kind::pod && r.foreign_owner) {
            out.push_back(&r);
        }
    }
    std::ranges::sort(out, {}, &refusal::name);
    return out;
}

class pod_maker {
public:
    explicit pod_maker(pass& p)
        : p_(p),
          open_(open_roles(p)),
          quota_until_(quota_hold(p)),
          held_names_(held_names(p)),
          conflicts_(name_conflicts(p)) {}

    stage make() {
        if (p_.has_master()) {
            consider(p_.plan.master_role, 0, p_.master_slot());
        }
        for_each_slot(p_, [&](std::size_t role, std::int32_t index, slot& s) {
            if (!p_.is_master(role, index)) {
                consider(role, index, s);
            }
        });
        return std::move(actions_);
    }

private:
    void consider(std::size_t role, std::int32_t index, const slot& s) {
        // A seen pod that is missing is a loss to be confirmed first (5.3).
        if (s.current != nullptr || s.seen || s.settled() || !open_[role]) {
            return;
        }
        if (s.blocked) {
            p_.wait_for(reason::waiting_for_names, "an older pod is being deleted");
            return;
        }
        if (held_by_delay(p_, s)) {
            return;
        }
        const pod_identity id{role, index, p_.next.attempt, s.round, s.rename};
        action a;
        a.what = verb::create;
        a.kind = object_kind::pod;
        a.name = pod_name(p_.plan, id);
        a.pod = id;
        if (std::ranges::binary_search(held_names_, std::string_view(a.name))) {
            p_.wait_for(reason::waiting_for_names, "a stuck pod still holds the name");
            return;
        }
        a.why = fmt::format("replica {} {} has no pod", p_.plan.roles[role].type, index);
        a.rule = "behaviour 2.1";
        const auto r = std::ranges::lower_bound(conflicts_, a.name, {}, &refusal::name);
        if (r != conflicts_.end() && (*r)->name == a.name) {
            hold(p_, a, **r);
            tell_refusal(p_, **r);
        }
        for (const auto& held : {quota_until_, p_.creations_held}) {
            if (held) {
                p_.put_off(a, *held);
            }
        }
        actions_.push_back(std::move(a));
    }

    pass& p_;
    std::vector<bool> open_;
    std::optional<instant> quota_until_;
    std::vector<std::string_view> held_names_;
    std::vector<const refusal*> conflicts_;
    stage actions_;
};

void tell_of_new_pods(pass& p, const stage& pods) {
    std::vector<const action*> now;
    for (const action& a : pods) {
        if (!a.not_before || *a.not_before <= p.now) {
            now.push_back(&a);
        }
    }
    if (now.empty()) {
        return;
    }
    if (now.size() > static_cast<std::size_t>(p.rules.replica_events)) {
        p.normal(
            event_reason::new_replica,
            fmt::format("Creating pods {} to {}", now.front()->name, now.back()->name)
        );
        return;
    }
    for (const action* a : now) {
        p.normal(event_reason::new_replica, fmt::format("Creating pod {}", a->name));
    }
}

}  // namespace

void create_missing(pass& p) {
    if (waits_for_pod_group(p) || !ensure_objects(p)) {
        return;
    }
    if (p.view.older_attempt_left) {
        p.wait_for(reason::waiting_for_names, "pods of the attempt before are being deleted");
        return;
    }
    stage pods = pod_maker(p).make();
    if (pods.empty()) {
        return;
    }
    if (!p.next.start_time) {
        p.next.start_time = round_up_to_second(p.now);
        p.normal(event_reason::start, "Creating the pods of the job");
        deadline_passed(p);
    }
    tell_of_new_pods(p, pods);
    p.add_stage(std::move(pods));
}

}  // namespace signalbox::core::engine
