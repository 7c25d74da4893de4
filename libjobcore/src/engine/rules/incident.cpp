// SPDX-License-Identifier: Apache-2.0
//
// What is lost has consequences (BEHAVIOUR.md 5.3-5.10).
#include "engine/facts/backoff.hpp"
#include "engine/rules/rounds.hpp"
#include "engine/rules/rules.hpp"
#include "engine/rules/verdict.hpp"
#include "jobcore/strings.hpp"
#include "status/bounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace signalbox::core::engine {
namespace {

instant latest_end(std::span<const loss> losses) {
    return std::ranges::max(losses, {}, &loss::end).end;
}

/// Until when what was lost is known to have been well.
instant latest_health(std::span<const loss> losses) {
    const auto until = [](const loss& l) { return l.healthy_until.value_or(l.end); };
    return until(std::ranges::max(losses, {}, until));
}

/// Sets the streaks, and gives the delay before the lost pods are made again: zero for at once.
milliseconds count_streaks(const context& c, const health& h, bool counted, incident& out) {
    const policy& policy = c.in.policy;
    const restart_ledger& ledger = c.status.restarts;
    out.streak = ledger.streak;
    out.free_streak = ledger.free_streak;
    if (counted) {
        // The streak starts again after a long healthy time (5.8).
        out.streak = was_healthy_for(c, latest_health(h.losses), policy.healthy_after)
                         ? 1
                         : std::min(ledger.streak, most_counted - 1) + 1;
        return out.streak < 2
                   ? milliseconds(0)
                   : doubled(policy.restart_delay, out.streak - 2, policy.restart_delay_max);
    }
    const bool short_lived = std::ranges::any_of(h.losses, &loss::short_lived);
    out.free_streak = short_lived ? std::min(ledger.free_streak, most_counted - 1) + 1 : 0;
    return short_lived ? doubled(policy.free_delay, out.free_streak - 1, policy.free_delay_max)
                       : milliseconds(0);
}

/// What was lost from outside has no cause of the job's own (3.13).
void tell_cause(const loss& lead, incident_record& entry) {
    if (!lead.disrupted) {
        entry.message = cut_in_front(in_one_line(lead.message));
        entry.consequence = lead.secondary;
    }
}

template <class Losses>
void list_pods(const context& c, const Losses& losses, incident_record& entry) {
    const auto limit = static_cast<std::size_t>(c.in.policy.pods_in_incident);
    for (const loss& l : losses) {
        if (l.type == no_type) {
            continue;  // no pod: the Secret
        }
        if (entry.pods.size() == limit) {
            ++entry.more;
            continue;
        }
        entry.pods.push_back({l.name, l.pod == nullptr ? "" : l.pod->uid, l.exit_code, l.reason});
    }
}

/// The incident on record takes these losses in: its time, pods and streaks stand.
milliseconds join(const context& c, incident& out) {
    const incident_record& last = *c.status.restarts.last;
    out.joins_last = true;
    out.streak = c.status.restarts.streak;
    out.free_streak = c.status.restarts.free_streak;
    const auto limit = static_cast<std::size_t>(c.in.policy.pods_in_incident);
    std::vector<incident_pod> pods = last.pods;
    for (incident_pod& pod : out.entry.pods) {
        if (pods.size() < limit) {
            pods.push_back(std::move(pod));
        } else {
            ++out.entry.more;
        }
    }
    out.entry.pods = std::move(pods);
    out.entry.more += last.more;
    if (!last.message.empty() && (!last.consequence || out.entry.consequence)) {
        out.entry.message = last.message;
        out.entry.consequence = last.consequence;
    }
    out.entry.time = std::min(*last.time, *out.entry.time);
    out.entry.counted = last.counted;
    out.entry.rule = last.rule;
    return milliseconds(0);
}

/// A pod of that type is in the incident on record.
bool has_failed(const context& c, std::size_t type) {
    const auto& pods = c.status.restarts.last->pods;
    return std::ranges::any_of(pods, [&](const incident_pod& pod) {
        return identity_from_name(c.in.plan, pod.name).type == type;
    });
}

/// A delay that still runs holds what is made next too (5.8).
std::optional<instant> delay_in_force(const context& c) {
    const auto& last = c.status.restarts.last;
    return last ? last->not_before : std::nullopt;
}

/// The wanted scope, unless the record has no room for it.
restart_scope bounded_scope(const context& c, const health& h, restart_scope scope) {
    const bool fits =
        !c.in.outdated && scope == restart_scope::replica && has_room_for(c, h.losses);
    return fits ? scope : restart_scope::job;
}

incident make_incident(const context& c, const health& h, const verdict& v) {
    const loss& lead = leading_loss(h, v);
    const instant end = latest_end(h.losses);
    incident out;
    incident_record& entry = out.entry;
    entry.time = round_down_to_second(
        replaces_alone(c) ? std::ranges::min(h.losses, {}, &loss::end).end : end
    );
    entry.cause = to_string(lead.cause);
    entry.reason = lead.reason;
    entry.scope = bounded_scope(c, h, v.scope);
    entry.counted = v.counted;
    tell_cause(lead, entry);
    if (v.rule) {
        entry.rule = v.rule->name;
        out.failed_by = v.rule->action;
        out.avoid = v.rule->action == failure_action::restart_elsewhere ? whose(*v.rule->on).node
                                                                        : std::string();
    }
    out.forgiven = v.forgiven;
    if (v.judged_by_progress) {
        out.idle = v.idle + 1;
    }
    list_pods(c, h.losses, entry);
    const milliseconds delay = v.joins_last ? join(c, out) : count_streaks(c, h, v.counted, out);
    if (delay.count() > 0) {
        entry.not_before = round_up_to_second(end + delay);
    }
    const auto held = delay_in_force(c);
    if (held && *held > c.in.now) {
        entry.not_before = std::max(entry.not_before.value_or(*held), *held);
    }
    for (const loss& l : h.losses) {
        out.lost.push_back({l.type, l.index});
        if (v.counted && !l.disrupted && l.type != no_type &&
            !(v.joins_last && has_failed(c, l.type))) {
            out.failed_types.push_back(l.type);
        }
    }
    out.failure = lead.message;
    out.whose = whose(lead);
    return out;
}

replicas_given_up give_up(const context& c, const health& h) {
    replicas_given_up out;
    for (const loss& l : h.losses) {
        if (!l.disrupted && !c.is_deciding(l.type, l.index)) {
            out.entries.push_back({{l.type, l.index}, l.message});
        }
    }
    return out;
}

}  // namespace

std::optional<record> begin_first_attempt(const context& c, const health&, const open_questions&) {
    return c.status.attempt == 0 ? std::optional<record>(first_attempt{}) : std::nullopt;
}

std::optional<record> let_exit_settle(
    const context& c, const health& h, const open_questions& open
) {
    if (!open.settles_until || c.status.restarts.settling) {
        return std::nullopt;
    }
    std::vector<loss> ended;
    std::ranges::copy_if(judge(c, h).lost.losses, std::back_inserter(ended), &loss::exited);
    exit_settles out;
    incident_record& entry = out.entry;
    entry.time = round_down_to_second(std::ranges::min(ended, {}, &loss::end).end);
    const loss* named = first_failure(ended);
    const loss& lead = named == nullptr ? ended.front() : *named;
    entry.cause = to_string(lead.cause);
    entry.reason = lead.reason;
    entry.scope = restart_scope::replica;
    tell_cause(lead, entry);
    list_pods(c, ended, entry);
    out.failure = lead.message;
    return out;
}

std::optional<record> answer_losses(const context& c, const health& h, const open_questions&) {
    if (h.losses.empty()) {
        return std::nullopt;
    }
    const judgement j = judge(c, h);
    if (j.said.restartable) {
        return make_incident(c, j.lost, j.said);
    }
    if (j.ends) {
        return end_without_restart(j.lost, j.said);
    }
    return give_up(c, j.first);
}

std::optional<record> answer_lost_keys(const context& c, const health& h, const open_questions&) {
    if (h.keys.is != key_object::state::lost) {
        return std::nullopt;
    }
    loss lost;
    lost.type = no_type;
    lost.disrupted = true;
    lost.cause = cause::secret_lost;
    lost.end = c.in.now;
    lost.short_lived = is_soon_after_incident(c);
    lost.name = h.keys.name;
    lost.message = fmt::format("Secret {} was deleted before every pod had started", lost.name);
    health alone;
    alone.losses.push_back(std::move(lost));
    verdict v;
    v.restartable = true;
    return make_incident(c, alone, v);
}

std::optional<record> answer_stall(const context& c, const health&, const open_questions&) {
    const auto clock = find_progress_clock(c);
    if (!clock || !clock->still || c.in.plan.run.on_stall != stall_action::restart ||
        c.in.plan.scope == scope_rule::no_restart) {
        return std::nullopt;
    }
    loss still;
    still.type = no_type;
    still.cause = cause::stalled;
    still.end = c.in.now;
    still.healthy_until = clock->since;
    still.message = clock->text;
    health alone;
    alone.losses.push_back(std::move(still));
    const verdict v = judge_stall(c, alone);
    return v.restartable ? std::optional<record>(make_incident(c, alone, v))
                         : std::optional<record>(end_without_restart(alone, v));
}

}  // namespace signalbox::core::engine
