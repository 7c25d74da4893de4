// SPDX-License-Identifier: Apache-2.0
//
// Which work a job has in its present phase, in the order of its stages.
#include "engine/work/work.hpp"

#include "engine/work/parts.hpp"

#include <algorithm>

namespace signalbox::core::engine {
namespace {

void confirm_missing_keys(const health& h, work& out) {
    if (h.keys.is == key_object::state::unconfirmed) {
        out.add({confirm(h.keys.kind, h.keys.name, "the Secret with the ssh keys is missing")});
    }
}

action confirm_pod(const context& c, std::size_t type, std::int32_t index) {
    return confirm(object_kind::pod, c.name_of(type, index), "a pod that was seen is missing");
}

/// An older pod that is in view under that name is waited for: a read would find nothing else.
bool is_held_in_view(const context& c, const replica& r) {
    const auto at = std::ranges::lower_bound(
        c.view.left_overs,
        c.name_of(r.type, r.index),
        {},
        [](const left_over& l) { return std::string_view(l.pod->name); }
    );
    return at != c.view.left_overs.end() && at->pod->name == c.name_of(r.type, r.index);
}

void confirm_missing_pods(const context& c, const health& h, work& out) {
    stage reads;
    for (const replica& r : h.unconfirmed) {
        if (!is_held_in_view(c, r)) {
            reads.push_back(confirm_pod(c, r.type, r.index));
        }
    }
    out.add(std::move(reads));
}

/// A confirmed absence is known only as long as decisions ask for it (12.6). While an exit settles
/// it has no consequence yet, so it stays asked for, to be read again when the time is up.
void keep_confirmed(const context& c, const health& h, instant until, work& out) {
    stage reads;
    for (const loss& l : h.losses) {
        const replica_view* s = c.find_replica(l.type, l.index);
        if (l.cause == cause::pod_vanished && s != nullptr && !s->damaged) {
            reads.push_back(confirm_pod(c, l.type, l.index));
            hold(reads.back(), until, c.in.now);
        }
    }
    out.add(std::move(reads));
}

void await_repeats(const context& c, const health& h, work& out) {
    for (const repeated_run& run : h.repeated) {
        if (run.due > c.in.now) {
            out.wake_ups.push_back({run.due, awaited::restart_delay});
        }
    }
}

/// A pod that somebody took out of view may still run (1.9).
void confirm_unaccounted(const context& c, const health& h, work& out) {
    stage reads;
    for (const replica& r : h.unaccounted) {
        reads.push_back(confirm_pod(c, r.type, r.index));
    }
    out.add(std::move(reads));
}

/// First, so that no refusal keeps them waiting: what is deleted later is gone with its log.
void read_logs(const context& c, const open_questions& open, work& out) {
    // An API server cuts what is too long at its end: the lines are few enough to fit.
    constexpr std::int32_t usual_line = 256;
    const std::int32_t bytes = c.in.policy.evidence_bytes;
    stage reads;
    for (const log_wanted& log : open.logs) {
        reads.push_back(
            {object_kind::pod,
             log.pod,
             read_log{log.pod_uid, log.container, bytes / usual_line, bytes, log.until},
             std::nullopt,
             "it failed, and its log may say why",
             "behaviour 3.13"}
        );
    }
    out.add(std::move(reads));
}

void go_on(const context& c, const health& h, const open_questions& open, work& out) {
    if (c.in.plan.paused) {
        remove_left_overs(c, out);  // the pause waits for what is missing
        confirm_missing_pods(c, h, out);
        return;
    }
    read_logs(c, open, out);
    confirm_missing_keys(h, out);
    await_repeats(c, h, out);
    remove_left_overs(c, out);
    confirm_missing_pods(c, h, out);
    create_missing(c, h, open, out);
    keep_companions(c, h, out);
    remove_old_config_maps(c, out);
    remove_other_gangs(c, out);
    if (open.settles_until) {
        keep_confirmed(c, h, *open.settles_until, out);
    }
}

}  // namespace

work plan_work(const context& c, const health& h, const open_questions& open) {
    work out;
    const bool ended = is_final(c.status.phase);
    const bool paused = c.status.phase == job_phase::paused;
    if (ended && clean_up(c, out)) {
        return out;
    }
    confirm_unaccounted(c, h, out);
    if (paused && c.in.plan.paused) {
        remove_for_pause(c, out);
    }
    if (c.in.invalid) {
        return out;
    }
    if (ended || paused) {
        keep_companions(c, h, out);
    } else {
        go_on(c, h, open, out);
    }
    return out;
}

}  // namespace signalbox::core::engine
