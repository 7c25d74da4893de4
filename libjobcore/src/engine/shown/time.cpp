// SPDX-License-Identifier: Apache-2.0
//
// What the job spends its time on (BEHAVIOUR.md 13.1). The record changes only in decisions that
// write a status for other reasons too.
#include "engine/facts/pod_facts.hpp"
#include "engine/shown/shown.hpp"

#include <algorithm>
#include <array>
#include <chrono>

namespace signalbox::core::engine {
namespace {

/// Somebody else has to give the job its place first.
constexpr std::array queue_reasons{
    reason::waiting_for_room,
    reason::waiting_for_pod_group,
    reason::quota_exceeded,
    reason::unschedulable,
    reason::waiting_for_gang,
    reason::waiting_for_quota,
    reason::scheduling_gated,
};

std::int64_t& seconds_of(time_spent& t, time_kind kind) {
    switch (kind) {
        case time_kind::queued:
            return t.queued;
        case time_kind::none:
        case time_kind::starting:
            break;
        case time_kind::running:
            return t.running;
        case time_kind::restarting:
            return t.restarting;
        case time_kind::stalled:
            return t.stalled;
        case time_kind::paused:
            return t.paused;
    }
    return t.starting;
}

/// An incident has struck the attempt or made it.
bool is_restarting(const context& c, const phase_shown& phase) {
    const auto& last = c.status.restarts.last;
    return phase.reason == reason::below_min_replicas ||
           (last && last->attempt == c.status.attempt);
}

time_kind kind_of(const context& c, const phase_shown& phase, const progress_clock* still) {
    const time_kind before = c.in.job.status.time.in;
    const bool untold = phase.reason == reason::invalid_spec || phase.phase == job_phase::unknown;
    if (phase.phase == job_phase::paused) {
        return time_kind::paused;
    }
    if (untold && before != time_kind::none) {
        return before;  // what its pods do is not known
    }
    if (phase.phase == job_phase::running) {
        return !phase.complete    ? time_kind::restarting
               : still != nullptr ? time_kind::stalled
                                  : time_kind::running;
    }
    const reason why = phase.waits_on == reason::none ? phase.reason : phase.waits_on;
    if (std::ranges::find(queue_reasons, why) != queue_reasons.end()) {
        return time_kind::queued;
    }
    return is_restarting(c, phase) ? time_kind::restarting : time_kind::starting;
}

/// When the last of the pods started that make the attempt complete, ended ones included.
instant last_start(const context& c) {
    instant last = instant::min();
    for_each_replica(c.view, [&](std::size_t, std::int32_t, const replica_view& s) {
        if (s.current != nullptr && (s.is_up() || s.done())) {
            last = std::max(last, start_of(*s.current, s.training, c.in.now));
        }
    });
    return last == instant::min() ? c.in.now : last;
}

/// What the record makes of the attempt in hand.
struct effect {
    bool ends = false;  ///< what it did is worth what its last checkpoint holds
    std::optional<instant> at{};
};

effect effect_of(const record& r) {
    if (const auto* end = std::get_if<job_end>(&r)) {
        return {end->phase == job_phase::failed};
    }
    if (const auto* i = std::get_if<incident>(&r)) {
        const bool stalled = says(i->entry.cause, cause::stalled);
        return {true, stalled ? std::nullopt : i->entry.time};  // it stood still until now
    }
    if (const auto* size = std::get_if<size_change>(&r)) {
        return {size->new_attempt};
    }
    return {
        std::holds_alternative<pause_begin>(r) || std::holds_alternative<types_change>(r) ||
        std::holds_alternative<quota_lost>(r)};
}

/// Since when the job is as it is, where no record of ours tells: versions before had none.
struct known_state {
    time_kind kind = time_kind::none;
    std::optional<instant> since;
};

known_state state_by_conditions(const job_status& s) {
    for (const auto& [type, kind] :
         {std::pair(condition_type::running, time_kind::running),
          std::pair(condition_type::paused, time_kind::paused)}) {
        const condition* c = core::find_condition(s, to_string(type));
        if (c != nullptr && c->status && c->last_transition) {
            return {kind, c->last_transition};
        }
    }
    return {};
}

std::int64_t seconds_between(instant from, instant to) {
    return std::chrono::floor<seconds>(to - from).count();
}

}  // namespace

time_change find_time_change(
    const context& c, const std::optional<phase_shown>& phase, const done& d
) {
    time_change out;
    const effect by_record = d.recorded ? effect_of(*d.recorded) : effect{};
    out.loses_work = by_record.ends;
    out.at = by_record.at.value_or(c.in.now);
    if (!phase) {
        out.at = c.status.completion_time.value_or(c.in.now);
        return out;
    }
    out.now = kind_of(c, *phase, d.still);
    const time_kind before = c.status.time.in;
    if (d.recorded) {
        return out;
    }
    if (out.now == time_kind::stalled && before == time_kind::running) {
        out.at = d.still->since;
    } else if (out.now == time_kind::running && before == time_kind::stalled) {
        out.at = c.status.progress && c.status.progress->advanced ? *c.status.progress->advanced
                                                                  : c.in.now;
    } else if (out.now == time_kind::running && before != time_kind::running) {
        out.at = last_start(c);
    }
    return out;
}

namespace {

/// What ran since the last checkpoint of the attempt that is known: one that is written while the
/// steps stand still holds all of them.
void note_unsaved(const inputs& in, job_status& status, instant at, std::int64_t stretch) {
    time_spent& t = status.time;
    const bool ran = t.in == time_kind::running;
    if (!ran && t.in != time_kind::stalled) {
        return;
    }
    const auto& progress = status.progress;
    const bool saved = progress && progress->checkpoint_time &&
                       progress->attempt == in.job.status.attempt &&
                       *progress->checkpoint_time >= *t.since;
    if (saved) {
        t.unsaved = 0;
    }
    if (ran) {
        t.unsaved +=
            saved ? seconds_between(std::min(*progress->checkpoint_time, at), at) : stretch;
    }
}

}  // namespace

bool may_come_back(time_kind now) {
    return now != time_kind::running && now != time_kind::stalled && now != time_kind::none;
}

void book_time(const inputs& in, const time_change& change, job_status& status) {
    time_spent& t = status.time;
    if (!t.since || (t.in == change.now && !change.loses_work)) {
        return;
    }
    const instant end = status.completion_time.value_or(round_down_to_second(in.now));
    const instant at =
        std::clamp(round_down_to_second(change.at), *t.since, std::max(end, *t.since));
    const std::int64_t stretch = seconds_between(*t.since, at);
    seconds_of(t, t.in) += stretch;
    note_unsaved(in, status, at, stretch);
    if (change.loses_work) {
        t.running -= t.unsaved;
        t.lost += t.unsaved;
        t.recoverable += t.unsaved;
    }
    if (change.loses_work || change.now == time_kind::none) {
        t.unsaved = 0;
    }
    if (!may_come_back(change.now)) {
        t.recoverable = 0;
    }
    t.in = change.now;
    t.since = at;
}

void begin_time(const inputs& in, const time_change& change, job_status& status) {
    const job_status& before = in.job.status;
    if (status.time.since || is_final(before.phase)) {
        return;
    }
    const instant now = round_down_to_second(in.now);
    const instant origin = round_down_to_second(in.job.meta.creation_time.value_or(now));
    const known_state known = state_by_conditions(before);
    time_spent& t = status.time;
    t = {};
    t.since = origin;
    t.in = known.kind;
    if (known.since) {
        t.since = std::clamp(*known.since, origin, std::max(origin, now));
        t.queued = seconds_between(origin, *t.since);
    } else if (change.now != time_kind::none) {
        t.in = change.now;
    } else {
        t.in = time_kind::starting;
    }
    book_time(in, change, status);
}

}  // namespace signalbox::core::engine
