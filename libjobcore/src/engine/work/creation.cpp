// SPDX-License-Identifier: Apache-2.0
//
// What is missing of a running job is made: other objects first, then pods (BEHAVIOUR.md 2).
#include "engine/facts/backoff.hpp"
#include "engine/view/children.hpp"
#include "engine/work/parts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::core::engine {
namespace {

/// Others have to end, and the caller knows when: no time is set (2.12).
void wait_for_room(const context& c, work& out) {
    out.wait_for(
        wait_rank::room,
        reason::waiting_for_room,
        fmt::format(
            "the jobs of the namespace that run or came before take what the operator allows them "
            "together, {} bytes of specifications",
            c.in.policy.namespace_bytes
        )
    );
}

/// Which stage of pods may be created now: a later one only when all of the one before are Ready.
bool stage_is_open(const context& c, std::size_t number) {
    for (std::size_t s = 0; s < number; ++s) {
        for (const std::size_t type : c.in.plan.pod_stages[s]) {
            const auto& replicas = c.view.types[type].replicas;
            const bool all_ready =
                !replicas.empty() && std::ranges::all_of(replicas, [](const replica_view& x) {
                    return x.current != nullptr && x.current->ready && !x.current->deletion;
                });
            if (!all_ready) {
                return false;
            }
        }
    }
    return true;
}

/// By type.
std::vector<bool> open_types(const context& c) {
    const auto& stages = c.in.plan.pod_stages;
    std::vector<bool> open(c.in.plan.types.size(), stages.empty());
    for (std::size_t s = 0; s < stages.size(); ++s) {
        for (const std::size_t type : stages[s]) {
            open[type] = stage_is_open(c, s);
        }
    }
    return open;
}

/// One quota refusal holds all pods of the job (2.8).
struct quota_hold {
    instant until{};
    const refusal* first = nullptr;  ///< the first of its refusals: its words are shown
};

std::optional<quota_hold> find_quota_hold(const context& c) {
    std::optional<quota_hold> out;
    for (const refusal& r : c.in.seen.refusals) {
        if (r.kind == object_kind::pod && classify(r) == refusal_class::quota) {
            const instant t =
                r.last + doubled(c.in.policy.quota_retry, r.count - 1, c.in.policy.quota_retry_max);
            out = out ? quota_hold{std::max(out->until, t), out->first} : quota_hold{t, &r};
        }
    }
    return out;
}

/// Until when the restart delay holds this replica (5.8).
std::optional<instant> delay_of(const context& c, const replica_view& s) {
    const auto& last = c.status.restarts.last;
    if (!last || !last->not_before || *last->not_before <= c.in.now) {
        return std::nullopt;
    }
    // A resize may have begun another attempt since: the delay stands (7.4, 5.8).
    const bool others = last->scope == restart_scope::replica && s.round == 0;
    return others ? std::nullopt : last->not_before;
}

/// Names of pods labelled `gone`, sorted: they may still be held.
std::vector<std::string_view> held_names(const context& c) {
    std::vector<std::string_view> names;
    for (const pod_record* pod : c.view.gone) {
        names.push_back(pod->name);
    }
    std::ranges::sort(names);
    return names;
}

bool is_for_good(const refusal& r) {
    return classify(r) == refusal_class::final;
}

/// Refusals of single pods: for good, or until something else ends them, such as a name that is
/// taken or a right that is missing. Sorted by name.
std::vector<const refusal*> refusals_of_pods(const context& c) {
    std::vector<const refusal*> out;
    for (const refusal& r : c.in.seen.refusals) {
        const bool of_all = classify(r) == refusal_class::quota || r.namespace_terminating;
        if (r.kind == object_kind::pod && !of_all) {
            out.push_back(&r);
        }
    }
    std::ranges::sort(out, {}, &refusal::name);
    return out;
}

class pod_maker {
public:
    pod_maker(const context& c, const open_questions& open, work& out)
        : c_(c),
          out_(out),
          answered_(open.until()),
          open_(open_types(c)),
          quota_(find_quota_hold(c)),
          creations_held_(creations_held(c.in)),
          held_names_(held_names(c)),
          refused_(refusals_of_pods(c)) {}

    stage make() {
        if (quota_) {
            out_.wait_for(
                wait_rank::quota, reason::quota_exceeded, cut_message(quota_->first->message)
            );
        }
        if (const replica_view* deciding = c_.deciding()) {
            consider(c_.in.plan.deciding_type, 0, *deciding);
        }
        for_each_replica(c_.view, [&](std::size_t type, std::int32_t index, const replica_view& s) {
            if (!c_.is_deciding(type, index)) {
                consider(type, index, s);
            }
        });
        if (std::ranges::find(open_, false) != open_.end()) {
            out_.wait_for(
                wait_rank::workers, reason::waiting_for_workers, "not every worker is Ready"
            );
        }
        return std::move(actions_);
    }

private:
    void consider(std::size_t type, std::int32_t index, const replica_view& s) {
        // A seen pod that is missing is a loss to be confirmed first (5.3).
        if (s.current != nullptr || s.seen || s.done() || !open_[type]) {
            return;
        }
        if (s.blocked) {
            wait_for_name("an older pod is being deleted");
            return;
        }
        if (const auto until = delay_of(c_, s)) {
            out_.wake_ups.push_back({*until, awaited::restart_delay});
            out_.wait_for(
                wait_rank::restart_delay,
                reason::restart_delay,
                "the restart waits for its delay to pass"
            );
            return;
        }
        std::string name = c_.name_of(type, index);
        if (std::ranges::binary_search(held_names_, std::string_view(name))) {
            wait_for_name("a stuck pod still holds the name");
            return;
        }
        create({type, index, c_.status.attempt, s.round, s.rename}, std::move(name));
    }

    void create(pod_identity id, std::string name) {
        action a{
            object_kind::pod,
            std::move(name),
            create_pod{id},
            {},
            fmt::format("replica {} {} has no pod", c_.in.plan.types[id.type].name, id.index),
            "behaviour 2.1"};
        const auto r = std::ranges::lower_bound(refused_, a.name, {}, &refusal::name);
        if (r != refused_.end() && (*r)->name == a.name) {
            hold_refused(a, **r);
        }
        if (quota_) {
            hold(a, quota_->until, c_.in.now);
        }
        if (creations_held_) {
            hold(a, *creations_held_, c_.in.now);
        }
        actions_.push_back(std::move(a));
    }

    void hold_refused(action& a, const refusal& r) {
        if (!is_for_good(r)) {
            hold(a, next_try(c_.in.policy, r), c_.in.now);
            wait_for_refused(r, out_);
        } else if (is_refusal_of(r, a)) {
            // Its failure waits for its consequence (2.8).
            hold(a, answered_.value_or(next_try(c_.in.policy, r)), c_.in.now);
        }
    }

    void wait_for_name(const char* message) {
        out_.wait_for(wait_rank::name_held, reason::waiting_for_names, message);
    }

    const context& c_;
    work& out_;
    std::optional<instant> answered_;  ///< when losses have their consequence
    std::vector<bool> open_;
    std::optional<quota_hold> quota_;
    std::optional<instant> creations_held_;
    std::vector<std::string_view> held_names_;
    std::vector<const refusal*> refused_;
    stage actions_;
};

void tell_of_new_pods(const inputs& in, const stage& pods, work& out) {
    std::vector<const action*> now;
    for (const action& a : pods) {
        if (!a.not_before || *a.not_before <= in.now) {
            now.push_back(&a);
        }
    }
    const auto tell = [&](std::string message) {
        out.events.push_back(
            {false, std::string(to_string(reason::new_replica)), std::move(message)}
        );
    };
    if (now.size() > static_cast<std::size_t>(in.policy.replica_events)) {
        tell(fmt::format("Creating pods {} to {}", now.front()->name, now.back()->name));
        return;
    }
    for (const action* a : now) {
        tell(fmt::format("Creating pod {}", a->name));
    }
}

}  // namespace

void create_missing(const context& c, const health& h, const open_questions& open, work& out) {
    if (creations_held(c.in)) {
        out.wait_for(
            wait_rank::namespace_deleted, reason::object_refused, "the namespace is being deleted"
        );
    }
    if (c.in.seen.no_room && !c.status.start_time) {
        wait_for_room(c, out);
        return;
    }
    if (!is_scheduler_chosen(c, out) || !is_gang_served(c, out) || !asks_for_quota(c, out) ||
        !ensure_objects(c, h, out) || !lets_pods_in(c, out) || !has_quota(c, out)) {
        return;
    }
    if (c.view.older_attempt_left) {
        out.wait_for(
            wait_rank::older_attempt,
            reason::waiting_for_names,
            "pods of the attempt before are being deleted"
        );
        return;
    }
    // The next attempt makes them (10.4).
    stage pods = c.in.outdated ? stage() : pod_maker(c, open, out).make();
    if (pods.empty()) {
        tell_of_gang(c, out);
        return;
    }
    out.creates_pods = true;
    if (!c.status.start_time) {
        out.events.push_back(
            {false, std::string(to_string(reason::start)), "Creating the pods of the job"}
        );
    }
    tell_of_new_pods(c.in, pods, out);
    out.add(std::move(pods));
}

}  // namespace signalbox::core::engine
