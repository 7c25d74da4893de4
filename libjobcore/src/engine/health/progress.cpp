// SPDX-License-Identifier: Apache-2.0
//
// Whether training goes on (BEHAVIOUR.md 13.8).
#include "engine/facts/ledger.hpp"
#include "engine/facts/reporting.hpp"
#include "engine/health/health.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::core::engine {
namespace {

bool is_up_or_done(const replica_view& s) {
    return s.done() || s.is_up();
}

/// Since when the attempt runs as a whole, by what is on record; nothing if it does not.
std::optional<instant> running_since(const context& c) {
    const job_status& before = c.in.job.status;
    const bool runs = before.phase == job_phase::running && before.attempt == c.status.attempt &&
                      !c.in.invalid && !c.in.plan.paused && is_complete(c);
    if (!runs) {
        return std::nullopt;
    }
    const time_spent& t = before.time;
    if (t.since) {
        const bool whole = t.in == time_kind::running || t.in == time_kind::stalled;
        return whole ? t.since : std::nullopt;
    }
    const condition* running = find_condition(before, condition_type::running);
    return running != nullptr && running->status ? running->last_transition : std::nullopt;
}

bool is_debug(const inputs& in) {
    return in.job.compiled->spec && in.job.compiled->spec->mode.debug;
}

std::string words_of_stall(const context& c, const progress_clock& clock) {
    const auto& progress = c.status.progress;
    if (clock.unreported || !progress) {
        return fmt::format(
            "no process has reported within {} s", *c.in.plan.run.first_report_after
        );
    }
    std::string out = fmt::format("no progress for {} s", c.in.plan.run.stall_after);
    if (progress->current_step) {
        out += fmt::format(": step {}", *progress->current_step);
        out += progress->total_steps ? fmt::format(" of {}", *progress->total_steps) : "";
    }
    if (progress->slowest) {
        out += fmt::format(
            "; rank {} stood still first, at step {}",
            progress->slowest->rank,
            progress->slowest->step
        );
    }
    return out;
}

}  // namespace

bool below_minimum(const context& c) {
    return c.in.plan.elastic && replicas_up(c.view) < c.in.plan.elastic->min_replicas;
}

bool is_complete(const context& c) {
    if (c.in.plan.elastic) {
        const replica_view* deciding = c.deciding();
        return deciding != nullptr && is_up_or_done(*deciding) && !below_minimum(c);
    }
    return std::ranges::all_of(c.view.types, [](const type_view& type) {
        return std::ranges::all_of(type.replicas, is_up_or_done);
    });
}

std::optional<progress_clock> find_progress_clock(const context& c) {
    const run_policy& run = c.in.plan.run;
    const auto& progress = c.status.progress;
    const bool reported = progress && progress->attempt == c.status.attempt && progress->advanced;
    if ((!reported && !run.first_report_after) || is_debug(c.in)) {
        return std::nullopt;
    }
    // Pods that were made without what it takes cannot say anything.
    if (!reported && c.in.seen.reports_to != nullptr && !attempt_reports(c.in, c.status)) {
        return std::nullopt;
    }
    const auto runs = running_since(c);
    const bool was_still = c.in.job.status.time.in == time_kind::stalled;
    if (!runs || (!was_still && !c.in.seen.progress_since)) {
        return std::nullopt;
    }
    progress_clock out;
    out.unreported = !reported;
    out.since = std::max(*runs, reported ? *progress->advanced : *runs);
    if (was_still && out.since <= *runs) {
        out.due = *runs;
        out.still = true;  // nothing has come since
    } else {
        out.since = std::max(out.since, c.in.seen.progress_since.value_or(c.in.now));
        out.due = out.since + seconds(reported ? run.stall_after : *run.first_report_after);
        out.still = c.in.now >= out.due;
    }
    if (out.still) {
        out.text = words_of_stall(c, out);
    }
    return out;
}

std::optional<std::int64_t> furthest_step(const context& c) {
    const auto& progress = c.status.progress;
    const auto& before = c.status.restarts.furthest_step;
    if (!progress || !progress->current_step) {
        return before;
    }
    return std::max(*progress->current_step, before.value_or(0));
}

}  // namespace signalbox::core::engine
