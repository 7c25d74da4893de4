// SPDX-License-Identifier: Apache-2.0
#include "engine/restart.hpp"

#include "engine/backoff.hpp"
#include "engine/ledger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace signalbox::core::engine {
namespace {

/// Codes that `ExitCode` retries (BEHAVIOUR.md api 1.7).
constexpr std::array<std::int32_t, 4> retryable_codes{130, 137, 138, 143};
/// DeepSpeed's launcher gives 256 minus the signal.
constexpr std::array<std::int32_t, 4> retryable_deepspeed_codes{254, 247, 246, 241};

bool code_is_retryable(job_kind kind, std::optional<std::int32_t> code) {
    if (!code) {
        return false;
    }
    return std::ranges::find(retryable_codes, *code) != retryable_codes.end() ||
           (kind == job_kind::deepspeed &&
            std::ranges::find(retryable_deepspeed_codes, *code) != retryable_deepspeed_codes.end());
}

bool policy_allows(const pass& p, const loss& l) {
    switch (p.plan.roles[l.role].restart) {
        case restart_policy::always:
        case restart_policy::on_failure:
            return true;
        case restart_policy::exit_code:
            return code_is_retryable(p.plan.kind, l.exit_code);
        case restart_policy::never:
            return false;
    }
    return false;
}

bool never_had_a_pod(const pass& p) {
    return p.next.restarts.seen.empty() && p.next.attempt == 1 && !p.next.restarts.last;
}

/// One pod can be replaced while the others go on: torchrun with a rendezvous that outlives it.
bool may_replace_one(const pass& p, std::span<const loss> losses, bool master_ended) {
    if (p.plan.scope == scope_rule::whole_job || p.plan.scope == scope_rule::no_restart ||
        (p.plan.max_restarts == 0 && !p.spec.elastic)) {
        return false;
    }
    const bool master_lost =
        std::ranges::any_of(losses, [&](const loss& l) { return p.is_master(l.role, l.index); });
    return p.plan.scope != scope_rule::c10d || !(master_lost || master_ended);
}

restart_scope scope_of(const pass& p, std::span<const loss> losses, bool master_ended) {
    if (p.spec.policy.scope) {
        return *p.spec.policy.scope;
    }
    if (!may_replace_one(p, losses, master_ended)) {
        return restart_scope::job;
    }
    // One exit that settled alone leaves the others in their rendezvous.
    return std::ranges::count_if(losses, &loss::exited) < 2 ? restart_scope::replica
                                                            : restart_scope::job;
}

instant latest_end(std::span<const loss> losses) {
    return std::ranges::max(losses, {}, &loss::end).end;
}

/// The streak starts again after a long healthy time (5.8).
void reset_streak_if_healthy(pass& p, instant end) {
    const condition* running = find_condition(p.next, condition_type::running);
    if (running == nullptr || !running->status || !running->last_transition) {
        return;
    }
    instant healthy_since = *running->last_transition;
    if (p.next.restarts.last && p.next.restarts.last->time) {
        healthy_since = std::max(healthy_since, *p.next.restarts.last->time);
    }
    if (end - healthy_since >= p.rules.healthy_after) {
        p.next.restarts.streak = 0;
    }
}

/// Zero: at once.
milliseconds delay_of(pass& p, std::span<const loss> losses, const verdict& v, instant end) {
    restart_ledger& ledger = p.next.restarts;
    if (v.counted) {
        reset_streak_if_healthy(p, end);
        ++ledger.streak;
        return ledger.streak < 2
                   ? milliseconds(0)
                   : doubled(p.rules.restart_delay, ledger.streak - 2, p.rules.restart_delay_max);
    }
    const bool short_lived = std::ranges::any_of(losses, &loss::short_lived);
    ledger.free_streak = short_lived ? ledger.free_streak + 1 : 0;
    return short_lived ? doubled(p.rules.free_delay, ledger.free_streak - 1, p.rules.free_delay_max)
                       : milliseconds(0);
}

void count_failed_types(pass& p, std::span<const loss> losses) {
    for (task_status& task : p.next.tasks) {
        const bool failed = std::ranges::any_of(losses, [&](const loss& l) {
            return !l.disrupted && p.plan.roles[l.role].type == task.type;
        });
        task.restart_count += failed ? 1 : 0;
    }
}

incident_record make_record(
    const pass& p, std::span<const loss> losses, const verdict& v, restart_scope scope
) {
    incident_record record;
    const loss& lead = v.decisive == nullptr ? losses.front() : *v.decisive;
    record.time = round_down_to_second(latest_end(losses));
    record.cause = lead.cause;
    record.reason = lead.reason;
    record.scope = scope;
    record.counted = v.counted;
    const auto limit = static_cast<std::size_t>(p.rules.pods_in_incident);
    for (const loss& l : losses) {
        if (l.role == no_role) {
            continue;  // no pod: the Secret
        }
        if (record.pods.size() == limit) {
            ++record.more;
            continue;
        }
        record.pods.push_back({l.name, l.pod == nullptr ? "" : l.pod->uid, l.exit_code, l.reason});
    }
    return record;
}

restart_scope bounded_scope(pass& p, std::span<const loss> losses, restart_scope scope) {
    if (scope == restart_scope::job) {
        return scope;
    }
    std::vector<std::pair<std::string_view, std::int32_t>> indexes;
    for (const loss& l : losses) {
        indexes.emplace_back(p.plan.roles[l.role].type, l.index);
    }
    const auto limit = static_cast<std::size_t>(p.rules.replaced_in_status);
    return replaced_after(p.next, indexes) > limit ? restart_scope::job : scope;
}

}  // namespace

bool settles(pass& p, const look& l) {
    auto& last = p.next.restarts.last;
    const bool pending = last && last->pending;
    const bool exits = std::ranges::any_of(l.losses, &loss::exited);
    if (!exits || p.spec.policy.scope || !may_replace_one(p, l.losses, l.master_end.has_value())) {
        return false;
    }
    if (!pending) {
        std::vector<loss> ended;
        std::ranges::copy_if(l.losses, std::back_inserter(ended), &loss::exited);
        const auto held = last ? last->not_before : std::nullopt;
        verdict v;
        last = make_record(p, ended, v, restart_scope::replica);
        last->time = round_down_to_second(std::ranges::min(ended, {}, &loss::end).end);
        last->attempt = p.next.attempt;
        last->not_before = held;
        last->pending = true;
        p.failure_message = ended.front().message;
        p.warning(reason::replica_failed, cut_message(ended.front().message));
    }
    const instant due = last->time.value_or(p.now) + p.rules.settle;
    if (p.now >= due) {
        return false;
    }
    p.await(due, awaited::settle);
    return true;
}

verdict judge(const pass& p, std::span<const loss> losses, bool master_ended) {
    verdict v;
    if (losses.empty()) {
        return v;
    }
    if (p.plan.scope == scope_rule::no_restart) {
        return judge_without_restart(p, losses);
    }
    v.scope = scope_of(p, losses, master_ended);
    v.counted = std::ranges::none_of(losses, &loss::disrupted) &&
                !std::ranges::all_of(losses, &loss::unreachable);
    if (!v.counted) {
        v.restartable = true;
        return v;
    }
    const auto counts = [](const loss& l) { return !l.unreachable(); };
    instant first = instant::max();
    for (const loss& l : losses) {
        first = counts(l) ? std::min(first, l.end) : first;
    }
    bool allowed = false;
    for (const loss& l : losses) {
        if (counts(l) && l.end - first <= p.rules.first_failure_window) {
            v.decisive = v.decisive == nullptr ? &l : v.decisive;
            allowed = allowed || policy_allows(p, l);
        }
    }
    const bool rejected = v.decisive->cause == cause::pod_rejected && never_had_a_pod(p);
    v.restartable = !rejected && allowed && p.next.backoff_count < p.spec.policy.backoff_limit;
    if (!v.restartable) {
        v.reason = rejected  ? reason::pod_rejected
                   : allowed ? reason::backoff_limit_exceeded
                             : reason::error_in_pod;
    }
    return v;
}

void record_incident(pass& p, std::span<const loss> losses, const verdict& v) {
    restart_ledger& ledger = p.next.restarts;
    const instant end = latest_end(losses);
    const std::optional<instant> held = ledger.last ? ledger.last->not_before : std::nullopt;
    const milliseconds delay = delay_of(p, losses, v, end);
    const restart_scope scope = bounded_scope(p, losses, v.scope);
    incident_record record = make_record(p, losses, v, scope);
    if (delay.count() > 0) {
        record.not_before = round_up_to_second(end + delay);
    }
    if (held && *held > p.now) {
        record.not_before = std::max(record.not_before.value_or(*held), *held);
    }
    if (v.counted) {
        ++p.next.backoff_count;
        count_failed_types(p, losses);
    } else {
        ++ledger.disruptions;
    }
    if (scope == restart_scope::job) {
        raise_attempt(p.next, p.plan);
    } else {
        for (const loss& l : losses) {
            raise_round(p.next, p.plan.roles[l.role].type, l.index);
        }
    }
    record.attempt = p.next.attempt;
    ledger.last = std::move(record);

    const loss& lead = v.decisive == nullptr ? losses.front() : *v.decisive;
    p.failure_message = lead.message;
    p.warning(
        lead.cause == cause::secret_lost ? reason::secret_lost : reason::replica_failed,
        cut_message(lead.message)
    );
    p.normal(
        reason::restarting,
        scope == restart_scope::job ? "Restarting all replicas"
                                    : "Replacing the replicas that were lost"
    );
}

void give_up(pass& p, std::span<const loss> losses) {
    if (p.next.restarts.last) {
        p.next.restarts.last->pending = false;  // what settled has its consequence
    }
    for (const loss& l : losses) {
        if (l.disrupted || p.is_master(l.role, l.index)) {
            continue;
        }
        insert_index(p.next.restarts.given_up, p.plan.roles[l.role].type, l.index);
        p.failure_message = l.message;
        p.warning(reason::replica_failed, cut_message(l.message));
    }
}

void replace_always(pass& p, const look& l) {
    for (const auto& [role, index] : l.always) {
        const slot& s = p.view.roles[role].slots[static_cast<std::size_t>(index)];
        const role_plan& plan = p.plan.roles[role];
        const container_record* c = training_container(*s.current, plan.training_container);
        const instant started =
            c != nullptr && c->started ? *c->started : s.current->creation.value_or(p.now);
        const instant due = started + p.rules.always_delay;
        if (p.now < due) {
            p.await(due, awaited::restart_delay);
            continue;
        }
        const auto limit = static_cast<std::size_t>(p.rules.replaced_in_status);
        if (replaced_after(p.next, {{plan.type, index}}) <= limit) {
            raise_round(p.next, plan.type, index);
        }
    }
}

}  // namespace signalbox::core::engine
