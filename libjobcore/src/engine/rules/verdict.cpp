// SPDX-License-Identifier: Apache-2.0
#include "engine/rules/verdict.hpp"

#include "engine/facts/ledger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace signalbox::core::engine {
namespace {

/// So that a time of it can be computed.
constexpr std::int64_t most_seconds = 1'000'000'000;

bool policy_allows(const job_plan& plan, const loss& l) {
    switch (plan.types[l.type].restart) {
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
    // A deciding pod that has exited 0 has closed the rendezvous: no pod can join it alone.
    if (c.in.plan.peers_join && h.deciding_end && h.deciding_end->success()) {
        return restart_scope::job;
    }
    if (c.in.plan.run.scope) {
        return *c.in.plan.run.scope;
    }
    // One exit that settled alone leaves the others in their rendezvous.
    const bool alone = std::ranges::count_if(h.losses, &loss::exited) < 2;
    return can_replace_one(c, h) && alone ? restart_scope::replica : restart_scope::job;
}

/// How far a launcher came that is gone is not known.
bool launcher_has_started(const context& c) {
    const replica_view* s = c.deciding();
    if (s == nullptr || s->current == nullptr) {
        return s != nullptr && s->seen;
    }
    const type_plan& type = c.in.plan.types[c.in.plan.deciding_type];
    const container_record* container = training_container(*s->current, type.training_container);
    return container != nullptr && has_started(*container);
}

/// Kinds that restart nothing (5.11): the launcher's exit decides, and once it has started it
/// cannot do without any of its workers.
verdict evaluate_without_restart(const context& c, const health& h) {
    verdict v;
    v.scope = restart_scope::replica;
    const auto launcher = std::ranges::find_if(h.losses, [&](const loss& l) {
        return c.is_deciding(l.type, l.index) && !l.disrupted;
    });
    const loss* failed = first_failure(h.losses);
    // The launcher may have failed by the end of a worker: that is the cause, whoever is seen
    // first.
    if (launcher == h.losses.end() && launcher_has_started(c)) {
        v.reason = reason::replica_lost;
        v.decisive = failed != nullptr ? failed : &h.losses.front();
    } else if (launcher != h.losses.end() || failed != nullptr) {
        v.decisive = failed != nullptr ? failed : &*launcher;
        v.reason =
            v.decisive->cause == cause::pod_rejected ? reason::pod_rejected : reason::error_in_pod;
    } else {
        v.restartable = true;
    }
    return v;
}

/// When the first of them ended; what could not reach the workers says nothing of that.
instant first_end(const health& h) {
    instant first = instant::max();
    for (const loss& l : h.losses) {
        first = l.unreachable() ? first : std::min(first, l.end);
    }
    return first;
}

/// How long after `t` it ended. Under an invalid specification nothing may follow for hours, and
/// what counts as now, because it is not told when it ended, would end later with each decision: it
/// may have been first (4.2).
milliseconds time_after(const context& c, const loss& l, instant t) {
    return c.in.invalid && l.at_unknown_time ? milliseconds(0) : l.end - t;
}

/// Failures that ended close to the first one count as first (5.5).
health first_failures(const context& c, const health& h) {
    const instant first = first_end(h);
    health out;
    std::ranges::copy_if(h.losses, std::back_inserter(out.losses), [&](const loss& l) {
        return !l.unreachable() && time_after(c, l, first) <= c.in.policy.first_failure_window;
    });
    return out;
}

bool is_rule_of_user(std::string_view name) {
    return !name.empty() && !name.starts_with("default/");
}

/// Every pod of these losses ran when the first of the last incident ended, is none of those that
/// replaced its pods, and ended within the settle time of it.
bool joins_last(const context& c, const health& h) {
    const auto& last = c.status.restarts.last;
    const bool followed = last && (last->counted || is_rule_of_user(last->rule));
    if (!replaces_alone(c) || !followed || !last->time || last->scope != restart_scope::replica ||
        last->attempt != c.status.attempt) {
        return false;
    }
    return std::ranges::all_of(h.losses, [&](const loss& l) {
        const bool replaced =
            std::ranges::find(last->pods, l.name, &incident_pod::name) != last->pods.end();
        return l.pod != nullptr && l.pod->creation && *l.pod->creation <= *last->time &&
               !replaced && time_after(c, l, *last->time) < c.in.policy.settle;
    });
}

}  // namespace

bool was_healthy_for(const context& c, instant end, milliseconds time) {
    const condition* running = find_condition(c.in.job.status, condition_type::running);
    if (running == nullptr || !running->status || !running->last_transition) {
        return false;
    }
    const auto& last = c.status.restarts.last;
    const instant since = last && last->time ? std::max(*running->last_transition, *last->time)
                                             : *running->last_transition;
    return end - since >= time;
}

bool replaces_alone(const context& c) {
    if (c.in.plan.scope == scope_rule::no_restart) {
        return false;
    }
    return c.in.plan.run.scope ? *c.in.plan.run.scope == restart_scope::replica
                               : c.in.plan.scope != scope_rule::whole_job;
}

const loss& leading_loss(const health& h, const verdict& v) {
    return v.decisive == nullptr ? h.losses.front() : *v.decisive;
}

failed_pod whose(const loss& lost) {
    if (lost.type == no_type) {
        return {};
    }
    return {lost.name, lost.pod == nullptr ? std::string() : lost.pod->node.str(), lost.rank};
}

namespace {

/// Behind the failure, where its message does not tell.
std::string why_no_restart(const verdict& v) {
    if (v.reason == reason::failure_rule) {
        return fmt::format(" (spec.runPolicy.{})", v.rule->name);
    }
    return v.reason == reason::no_progress
               ? fmt::format("; {} restarts have brought it no further", v.idle)
               : std::string();
}

}  // namespace

job_end end_without_restart(const health& h, const verdict& v) {
    const loss& lead = leading_loss(h, v);
    return {
        job_phase::failed,
        v.reason.value_or(reason::error_in_pod),
        lead.message + why_no_restart(v),
        lead.message,
        whose(lead)};
}

std::int32_t replicas_remaining(const context& c, const health& h) {
    auto remain = -static_cast<std::int32_t>(h.losses.size());
    for (const type_view& type : c.view.types) {
        remain += static_cast<std::int32_t>(
            std::ranges::count(type.replicas, false, &replica_view::given_up)
        );
    }
    return remain;
}

namespace {

/// What failed at another time is another incident: only the losses of the first.
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
    std::erase_if(out.losses, [&](const loss& l) {
        return time_after(c, l, first) >= c.in.policy.settle;
    });
    const bool with_deciding = std::ranges::any_of(out.losses, [&](const loss& l) {
        return c.is_deciding(l.type, l.index);
    });
    if (out.deciding_end && !out.deciding_end->success() && !with_deciding) {
        out.deciding_end.reset();  // the deciding pod still ran
    }
    return out;
}

/// What the user wants of such a failure goes before all else (13.3). False if no rule of his
/// holds.
bool follow_rule(verdict& v) {
    if (!v.rule || v.rule->by_default) {
        return false;
    }
    v.decisive = v.rule->on;
    v.counted = v.rule->action == failure_action::restart;
    v.restartable = v.rule->action != failure_action::fail;
    if (!v.restartable) {
        v.reason = reason::failure_rule;
    }
    return true;
}

/// What of the budget a long run has given back (13.5).
std::int32_t forgiven(const context& c, const health& h) {
    const auto& after = c.in.plan.run.reset_backoff_after;
    const std::int32_t before = std::min(c.status.restarts.forgiven, c.status.backoff_count);
    if (!after || h.losses.empty()) {
        return before;
    }
    instant end = instant::min();
    for (const loss& l : h.losses) {
        end = std::max(end, l.healthy_until.value_or(l.end));
    }
    return was_healthy_for(c, end, seconds(std::min(*after, most_seconds))) ? c.status.backoff_count
                                                                            : before;
}

verdict evaluate(const context& c, const health& h) {
    if (c.in.plan.scope == scope_rule::no_restart) {
        verdict v = evaluate_without_restart(c, h);
        v.rule = find_failure_rule(c, h);
        if (v.rule) {
            follow_rule(v);
        }
        return v;
    }
    verdict v;
    v.scope = scope_of(c, h);
    v.forgiven = forgiven(c, h);
    v.counted = std::ranges::none_of(h.losses, &loss::disrupted) &&
                !std::ranges::all_of(h.losses, &loss::unreachable);
    v.joins_last = v.counted && joins_last(c, h);
    v.rule = v.joins_last ? std::nullopt : find_failure_rule(c, h);
    const bool in_budget = c.status.backoff_count - v.forgiven < c.in.plan.run.backoff_limit;
    if (follow_rule(v)) {
        v.restartable = v.restartable && (!v.counted || in_budget);
        if (v.counted && !v.restartable) {
            v.reason = reason::backoff_limit_exceeded;
        }
        return v;
    }
    if (!v.counted) {
        v.restartable = true;
        return v;
    }
    v.decisive = first_failure(h.losses);
    if (v.joins_last) {
        v.restartable = true;
        return v;
    }
    const bool allowed = std::ranges::any_of(first_failures(c, h).losses, [&](const loss& l) {
        return policy_allows(c.in.plan, l);
    });
    const bool rejected = v.decisive->cause == cause::pod_rejected && never_had_a_pod(c.status);
    v.restartable = !rejected && allowed && in_budget;
    if (!v.restartable) {
        v.reason = rejected  ? reason::pod_rejected
                   : allowed ? reason::backoff_limit_exceeded
                             : reason::error_in_pod;
    }
    return v;
}

bool lived_short(const context& c, const loss& l) {
    return l.pod != nullptr && l.pod->creation && l.end - *l.pod->creation < c.in.policy.short_life;
}

/// A failure of the job's own is not restarted without end where training does not advance (13.9).
void judge_by_progress(const context& c, verdict& v) {
    const auto& most = c.in.plan.run.max_idle_restarts;
    if (!most || !v.restartable || v.joins_last || (!v.counted && !v.freed_by_rule())) {
        return;
    }
    v.judged_by_progress = true;
    const restart_ledger& before = c.status.restarts;
    const auto step = furthest_step(c);
    const bool further = step && (!before.furthest_step || *step > *before.furthest_step);
    v.idle = further ? 0 : before.idle;
    if (v.idle >= *most) {
        v.restartable = false;
        v.reason = reason::no_progress;
    }
}

/// The job cannot do without what may not be restarted (5.10).
bool ends_job(const context& c, const health& h, const verdict& v) {
    const bool deciding_lost = std::ranges::any_of(h.losses, [&](const loss& l) {
        return c.is_deciding(l.type, l.index);
    });
    // What others did to a replica gives it up for no one: a rule of the user counts it.
    const bool disrupted = std::ranges::find(h.losses, true, &loss::disrupted) != h.losses.end();
    if (deciding_lost || disrupted || v.reason == reason::pod_rejected) {
        return true;
    }
    const auto& elastic = c.in.plan.elastic;
    const bool enough =
        elastic && elastic->survives_loss && replicas_remaining(c, h) >= elastic->min_replicas;
    return c.in.plan.run.failure != failure_policy::master && !enough;
}

}  // namespace

judgement judge(const context& c, const health& h) {
    judgement out;
    out.lost = first_incident(c, h);
    out.said = evaluate(c, out.lost);
    judge_by_progress(c, out.said);
    if (out.said.restartable) {
        // What is free by a rule waits as what is free by a disruption (5.4).
        for (loss& l : out.lost.losses) {
            l.short_lived = l.short_lived || (out.said.freed_by_rule() && lived_short(c, l));
        }
        return out;
    }
    const bool one_by_one = c.in.plan.scope != scope_rule::no_restart;
    out.first = one_by_one ? first_failures(c, out.lost) : out.lost;
    out.ends = out.said.reason == reason::failure_rule || out.said.reason == reason::no_progress ||
               ends_job(c, out.first, out.said);
    return out;
}

verdict judge_stall(const context& c, const health& h) {
    verdict v;
    v.scope = restart_scope::job;
    v.counted = true;
    v.forgiven = forgiven(c, h);
    v.decisive = &h.losses.front();
    v.restartable = c.status.backoff_count - v.forgiven < c.in.plan.run.backoff_limit;
    if (!v.restartable) {
        v.reason = reason::backoff_limit_exceeded;
    }
    judge_by_progress(c, v);
    return v;
}

std::optional<instant> open_until(const context& c, const judgement& j) {
    const bool timeless =
        std::ranges::find(j.first.losses, true, &loss::at_unknown_time) != j.first.losses.end();
    if (j.said.reason != reason::error_in_pod || c.in.plan.scope == scope_rule::no_restart ||
        timeless) {
        return std::nullopt;
    }
    // Ends are told in whole seconds.
    const instant until = first_end(j.lost) + c.in.policy.first_failure_window + seconds(1);
    const auto may_allow = [&](const type_view& type) {
        const bool by_rule = !c.in.plan.run.rules.empty();
        return (type.plan->restart != restart_policy::never || by_rule) &&
               std::ranges::any_of(type.replicas, [&](const replica_view& s) { return s.is_up(); });
    };
    const bool any = std::ranges::any_of(c.view.types, may_allow);
    return any && c.in.now < until ? std::optional(until) : std::nullopt;
}

}  // namespace signalbox::core::engine
