// SPDX-License-Identifier: Apache-2.0
//
// What is told of a job besides its record (BEHAVIOUR.md 11.1).
#include "engine/facts/ledger.hpp"
#include "engine/shown/shown.hpp"
#include "jobcore/event_rank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace signalbox::core::engine {

namespace {

bool is_warning(const diagnostic& d) {
    return d.level == severity::warning;
}

/// One event for each reason.
std::vector<event> warning_events(const std::vector<diagnostic>& findings) {
    std::vector<event> warnings;
    for (const diagnostic& d : findings) {
        auto it = std::ranges::find(warnings, d.reason, &event::reason);
        if (it == warnings.end()) {
            it = warnings.insert(warnings.end(), {true, d.reason, ""});
        }
        it->message +=
            fmt::format("{}{}: {}", it->message.empty() ? "" : "; ", d.pointer, d.message);
    }
    for (event& e : warnings) {
        e.message = cut_message(std::move(e.message));
    }
    return warnings;
}

}  // namespace

std::vector<event> tell_of_warnings(const inputs& in) {
    const job_status& before = in.job.status;
    std::vector<diagnostic> untold;
    if (before.phase == job_phase::none) {
        std::ranges::copy_if(in.job.compiled->findings, std::back_inserter(untold), is_warning);
        std::vector<event> out = warning_events(untold);
        out.insert(
            out.begin(), {false, std::string(to_string(reason::created)), "The job was accepted"}
        );
        return out;
    }
    if (is_final(before.phase) || in.invalid) {
        return {};
    }
    // The record of having told them is the generation, which this decision writes.
    for (const dated_warning& w : in.job.compiled->warnings) {
        if (w.since > before.observed_generation) {
            untold.push_back(w.what);
        }
    }
    return warning_events(untold);
}

std::vector<event> tell_of_edits(const context& c) {
    const job_status& before = c.in.job.status;
    if (before.observed_generation == 0 || c.status.attempt == 0 || is_final(before.phase) ||
        before.observed_generation == c.in.job.meta.generation ||
        before.phase == job_phase::paused) {
        return {};
    }
    // Sizes are on record; for the rest the specification before is needed, which a fresh process
    // does not have.
    const job_plan& plan = c.in.plan;
    const bool resized =
        !plan.elastic && wanted_in_force(before, plan) != wanted_in_force(job_status{}, plan);
    if (!resized && !c.in.outdated && !c.in.job.compiled->forbidden_edit) {
        return {};
    }
    return {
        {true,
         std::string(to_string(reason::spec_changed)),
         "The specification was changed while the job was not paused: running pods stay as they "
         "are, later pods follow the new specification"}};
}

std::vector<event> tell_of_phase(const context& c, const phase_shown& phase) {
    std::vector<event> out;
    for (const fact& f : phase.facts) {
        if (!is_told(c.in.job.status, f.reason)) {
            out.push_back({true, std::string(to_string(f.reason)), cut_message(f.text)});
        }
    }
    if (phase.phase == job_phase::running && c.in.job.status.phase != job_phase::running &&
        !c.in.invalid) {
        out.push_back(
            {false,
             std::string(to_string(reason::running)),
             c.in.plan.elastic ? "Enough replicas run" : "All replicas run"}
        );
    }
    return out;
}

}  // namespace signalbox::core::engine

namespace signalbox::core {

event_rank rank_of(const event& told) {
    using namespace engine;
    static constexpr std::array ranks{
        std::pair{reason::succeeded, event_rank::end},
        std::pair{reason::failed, event_rank::end},
        std::pair{reason::invalid_spec, event_rank::end},
        std::pair{reason::new_replica, event_rank::detail},
        std::pair{reason::start, event_rank::detail},
        std::pair{reason::cleaned_up, event_rank::detail},
    };
    const auto* row =
        std::ranges::find_if(ranks, [&](const auto& r) { return says(told.reason, r.first); });
    return row == ranks.end() ? event_rank::state : row->second;
}

}  // namespace signalbox::core
