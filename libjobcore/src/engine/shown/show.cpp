// SPDX-License-Identifier: Apache-2.0
#include "engine/facts/deadline.hpp"
#include "engine/shown/shown.hpp"
#include "jobcore/strings.hpp"

#include <utility>

namespace signalbox::core::engine {
namespace {

/// What is awaited by the clock: what is on record, and what the work found. Of equal times the
/// deadline is shown: it ends the job.
std::vector<wake_up> find_wake_ups(const context& c, const done& d, std::optional<instant> start) {
    std::vector<wake_up> out;
    const bool active = !is_final(c.status.phase) && c.status.phase != job_phase::paused;
    const auto deadline = deadline_of(c.in, start);
    // A pause that is to come wins over it (5.12).
    if (active && deadline && !c.in.plan.paused) {
        out.push_back({*deadline, awaited::deadline});
    }
    if (active && d.open.settles_until) {
        out.push_back({*d.open.settles_until, awaited::settle});
    }
    if (active && d.open.refused_until) {
        out.push_back({*d.open.refused_until, std::nullopt});
    }
    if (active && d.open.ends_until) {
        out.push_back({*d.open.ends_until, std::nullopt});
    }
    const auto& found = d.planned.wake_ups;
    out.insert(out.end(), found.begin(), found.end());
    return out;
}

std::optional<transition> next_transition(const std::vector<wake_up>& all) {
    const wake_up* next = nullptr;
    for (const wake_up& w : all) {
        if (w.shown_as && (next == nullptr || w.at < next->at)) {
            next = &w;
        }
    }
    return next == nullptr
               ? std::nullopt
               : std::optional(transition{
                     round_up_to_second(next->at), std::string(to_string(*next->shown_as))});
}

std::string tensorboard_action(const context& c, const work& planned) {
    if (planned.board) {
        return std::string(to_string(*planned.board));
    }
    return c.status.tensorboard ? c.status.tensorboard->action : std::string();
}

/// Of the failure on record, if this decision has found one (3.13).
const std::string* better_message(const context& c) {
    const restart_ledger& before = c.in.job.status.restarts;
    const restart_ledger& after = c.status.restarts;
    const auto improved = [](const auto& old, const auto& now) {
        return old && now && old->consequence && !now->consequence;
    };
    if (improved(before.settling, after.settling)) {
        return &after.settling->message;
    }
    return improved(before.last, after.last) ? &after.last->message : nullptr;
}

void show_lifecycle(const context& c, const done& d, shown& out) {
    const auto* end = d.recorded ? std::get_if<job_end>(&*d.recorded) : nullptr;
    if (end != nullptr) {
        out.conditions = show_end(c, *end);
    } else if (is_final(c.status.phase)) {
        out.conditions = c.in.job.status.conditions;
    } else {
        out.phase = show_phase(c, d);
        out.conditions = show_conditions(
            c, *out.phase, d.recorded ? failure_of(*d.recorded) : better_message(c), d.still
        );
        out.events = tell_of_phase(c, *out.phase);
    }
    out.time = find_time_change(c, out.phase, d);
}

}  // namespace

shown show(const context& c, const done& d) {
    shown out;
    show_lifecycle(c, d, out);
    out.counts = show_counts(c);
    out.start_time = c.status.start_time;
    if (d.planned.creates_pods && !out.start_time) {
        out.start_time = round_up_to_second(c.in.now);
    }
    out.tensorboard =
        c.in.invalid ? c.status.tensorboard : mirror_companion(c, tensorboard_action(c, d.planned));
    out.told = d.planned.told;
    out.wake_ups = find_wake_ups(c, d, out.start_time);
    return out;
}

void fill(const inputs& in, job_status& status, shown display) {
    status.told.clear();
    for (const reason r : display.told) {
        status.told.emplace_back(to_string(r));
    }
    if (display.phase) {
        status.phase = display.phase->phase;
        status.reason = to_string(display.phase->reason);
        for (const fact& f : display.phase->facts) {
            status.told.emplace_back(to_string(f.reason));
        }
    }
    status.conditions = std::move(display.conditions);
    for (condition& c : status.conditions) {
        c.message = in_one_line(c.message);  // pods, nodes and servers are quoted in it (11.4)
    }
    status.aggregate = display.counts.aggregate;
    status.replicas = display.counts.replicas;
    status.ready = std::move(display.counts.ready);
    status.selector = std::move(display.counts.selector);
    if (display.counts.tasks) {
        status.tasks = std::move(*display.counts.tasks);
    }
    status.start_time = display.start_time;
    status.tensorboard = std::move(display.tensorboard);
    status.next_transition = next_transition(display.wake_ups);
    book_time(in, display.time, status);
    status.observed_generation = in.job.meta.generation;
}

}  // namespace signalbox::core::engine
