// SPDX-License-Identifier: Apache-2.0
#include "engine/rules/verdict.hpp"

#include "engine/facts/ledger.hpp"

#include <algorithm>
#include <tuple>

namespace signalbox::core::engine {
namespace {

bool policy_allows(const job_plan& plan, const loss& l) {
    switch (plan.roles[l.role].restart) {
        case restart_policy::always:
        case restart_policy::on_failure:
            return true;
        case restart_policy::exit_code:
            return l.exit_code && std::ranges::find(plan.retryable_codes, *l.exit_code) !=
                                      plan.retryable_codes.end();
        case restart_policy::never:
            return false;
    }
    return false;
}

bool never_had_a_pod(const job_status& status) {
    return status.restarts.seen.empty() && status.attempt == 1 && !status.restarts.last;
}

restart_scope scope_of(const context& c, const health& h) {
    // A deciding pod that has exited 0 has closed the rendezvous: nobody can join it alone.
    if (c.in.plan.torchrun && h.master_end && h.master_end->success()) {
        return restart_scope::job;
    }
    if (c.in.plan.run.scope) {
        return *c.in.plan.run.scope;
    }
    // One exit that settled alone leaves the others in their rendezvous.
    const bool alone = std::ranges::count_if(h.losses, &loss::exited) < 2;
    return can_replace_one(c, h) && alone ? restart_scope::replica : restart_scope::job;
}

/// Nobody knows how far a launcher came that is gone.
bool launcher_has_started(const context& c) {
    const slot* s = c.master();
    if (s == nullptr || s->current == nullptr) {
        return s != nullptr && s->seen;
    }
    const role_plan& role = c.in.plan.roles[c.in.plan.master_role];
    const container_record* container = training_container(*s->current, role.training_container);
    return container != nullptr && has_started(*container);
}

/// Kinds that restart nothing (5.11): the launcher's exit decides, and once it has started it
/// cannot do without any of its workers.
verdict evaluate_without_restart(const context& c, const health& h) {
    verdict v;
    v.scope = restart_scope::replica;
    const auto launcher = std::ranges::find_if(h.losses, [&](const loss& l) {
        return c.is_master(l.role, l.index) && !l.disrupted;
    });
    const loss* failed = first_failure(h.losses);
    if (launcher == h.losses.end() && launcher_has_started(c)) {
        v.reason = reason::replica_lost;
        v.decisive = &h.losses.front();
    } else if (launcher != h.losses.end() || failed != nullptr) {
        v.decisive = launcher != h.losses.end() ? &*launcher : failed;
        v.reason =
            v.decisive->cause == cause::pod_rejected ? reason::pod_rejected : reason::error_in_pod;
    } else {
        v.restartable = true;
    }
    return v;
}

/// Failures that ended close to the first one count as first (5.5).
struct first_failures {
    const loss* decisive = nullptr;
    bool restart_allowed = false;
};

first_failures find_first_failures(const context& c, const health& h) {
    instant first = instant::max();
    for (const loss& l : h.losses) {
        first = l.unreachable() ? first : std::min(first, l.end);
    }
    first_failures out;
    out.decisive = first_failure(h.losses);
    for (const loss& l : h.losses) {
        if (!l.unreachable() && l.end - first <= c.in.policy.first_failure_window) {
            out.restart_allowed = out.restart_allowed || policy_allows(c.in.plan, l);
        }
    }
    return out;
}

bool replaces_alone(const context& c) {
    return c.in.plan.run.scope == restart_scope::replica &&
           c.in.plan.scope != scope_rule::no_restart;
}

/// Every pod of these losses ran when the first of the last incident ended, is none of those that
/// replaced its pods, and ended within the settle time of it.
bool joins_last(const context& c, const health& h, const verdict& v) {
    const auto& last = c.status.restarts.last;
    if (!replaces_alone(c) || v.scope != restart_scope::replica || !last || !last->time ||
        !last->counted || last->scope != restart_scope::replica ||
        last->attempt != c.status.attempt) {
        return false;
    }
    return std::ranges::all_of(h.losses, [&](const loss& l) {
        const bool replaced =
            std::ranges::find(last->pods, l.name, &incident_pod::name) != last->pods.end();
        return l.pod != nullptr && l.pod->creation && *l.pod->creation <= *last->time &&
               !replaced && l.end - *last->time < c.in.policy.settle;
    });
}

}  // namespace

const loss* first_failure(std::span<const loss> losses) {
    const auto order = [](const loss& l) {
        return std::tuple(l.secondary, l.end, l.role, l.index);
    };
    const loss* out = nullptr;
    for (const loss& l : losses) {
        if (!l.disrupted && !l.unreachable() && (out == nullptr || order(l) < order(*out))) {
            out = &l;
        }
    }
    return out;
}

health first_incident(const context& c, const health& h) {
    const bool disrupted = std::ranges::find(h.losses, true, &loss::disrupted) != h.losses.end();
    if (!replaces_alone(c) || disrupted || h.losses.empty()) {
        return h;
    }
    const auto& last = c.status.restarts.last;
    instant first = round_down_to_second(std::ranges::min(h.losses, {}, &loss::end).end);
    if (last && last->time && first > *last->time && first - *last->time < c.in.policy.settle) {
        first = *last->time;
    }
    health out = h;
    std::erase_if(out.losses, [&](const loss& l) { return l.end - first >= c.in.policy.settle; });
    return out;
}

verdict evaluate(const context& c, const health& h) {
    if (c.in.plan.scope == scope_rule::no_restart) {
        return evaluate_without_restart(c, h);
    }
    verdict v;
    v.scope = scope_of(c, h);
    v.counted = std::ranges::none_of(h.losses, &loss::disrupted) &&
                !std::ranges::all_of(h.losses, &loss::unreachable);
    if (!v.counted) {
        v.restartable = true;
        return v;
    }
    const first_failures first = find_first_failures(c, h);
    v.decisive = first.decisive;
    v.joins_last = joins_last(c, h, v);
    if (v.joins_last) {
        v.restartable = true;
        return v;
    }
    const bool rejected = v.decisive->cause == cause::pod_rejected && never_had_a_pod(c.status);
    v.restartable =
        !rejected && first.restart_allowed && c.status.backoff_count < c.in.plan.run.backoff_limit;
    if (!v.restartable) {
        v.reason = rejected                ? reason::pod_rejected
                   : first.restart_allowed ? reason::backoff_limit_exceeded
                                           : reason::error_in_pod;
    }
    return v;
}

const loss& leading_loss(const health& h, const verdict& v) {
    return v.decisive == nullptr ? h.losses.front() : *v.decisive;
}

job_end end_without_restart(const health& h, const verdict& v) {
    const std::string& message = leading_loss(h, v).message;
    return {job_phase::failed, v.reason, message, message};
}

std::int32_t replicas_remaining(const context& c, const health& h) {
    auto remain = -static_cast<std::int32_t>(h.losses.size());
    for (const role_view& role : c.view.roles) {
        remain += static_cast<std::int32_t>(std::ranges::count(role.slots, false, &slot::given_up));
    }
    return remain;
}

bool ends_job(const context& c, const health& h, const verdict& v) {
    if (v.restartable) {
        return false;
    }
    const bool master_lost =
        std::ranges::any_of(h.losses, [&](const loss& l) { return c.is_master(l.role, l.index); });
    if (master_lost || v.reason == reason::pod_rejected) {
        return true;
    }
    const auto& elastic = c.in.plan.elastic;
    const bool enough =
        elastic && elastic->survives_loss && replicas_remaining(c, h) >= elastic->min_replicas;
    return c.in.plan.run.failure != failure_policy::master && !enough;
}

}  // namespace signalbox::core::engine
