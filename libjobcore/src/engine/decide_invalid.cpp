// SPDX-License-Identifier: Apache-2.0
//
// A job whose specification has errors (BEHAVIOUR.md 4.2): one that has not started ends, one that
// runs goes on by what is on record, and nothing is made.
#include "engine/decide.hpp"
#include "engine/facts/reasons.hpp"
#include "engine/rules/record.hpp"
#include "engine/shown/shown.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace signalbox::core::engine {
namespace {

std::string error_list(const compiled_job& compiled) {
    std::string text;
    for (const diagnostic& d : compiled.findings) {
        if (d.level == severity::error) {
            text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", d.pointer, d.message);
        }
    }
    return cut_message(std::move(text));
}

/// What is not known forbids no restart.
restart_policy written_policy(const spec_fragments& fragments, std::string_view type) {
    const auto of_type = [&](const spec_fragments::restart& r) { return r.type == type; };
    const auto first = std::ranges::find_if(fragments.restarts, of_type);
    const bool clear = std::ranges::count_if(fragments.restarts, of_type) == 1;
    return clear ? first->policy : restart_policy::always;
}

/// The end of a job that has nothing yet.
decision end_unstarted(const inputs& in, const std::string& errors) {
    const job_end end{job_phase::failed, reason::invalid_spec, errors};
    const pod_view nothing;
    const context c{in, in.job.status, nothing};
    shown display;
    display.conditions = show_end(c, end);
    display.counts = show_counts(c);
    display.tensorboard = in.job.status.tensorboard;
    decision out;
    const time_change time = display.time;  // of an end there is nothing to be told
    job_status& status = out.status.emplace(in.job.status);
    apply(in, status, end);
    fill(in, status, std::move(display));
    begin_time(in, time, status);
    return out;
}

/// It has nothing, and is not paused: it ends before it begins.
bool ends_at_once(const inputs& in) {
    const job_status& s = in.job.status;
    return s.attempt == 0 && !is_final(s.phase) && !in.was_paused() && !in.plan.paused;
}

}  // namespace

// Pods are told apart by labels and record, and say which container trains, so that the deciding
// pod's result still counts.
job_plan plan_from_record(const job_object& job) {
    job_plan plan = *job.compiled->bare;
    plan.paused = job.compiled->fragments.pause;
    plan.run = job.compiled->fragments.run;
    plan.peers_join = job.compiled->fragments.peers_join;
    for (const task_status& task : job.status.tasks) {
        type_plan type;
        type.name = task.type;
        type.wanted = task.wanted;
        type.restart = written_policy(job.compiled->fragments, task.type);
        plan.types.push_back(std::move(type));
    }
    return plan;  // status lists the deciding pod's type first: deciding_type 0
}

decision decide_invalid(const inputs& in) {
    const std::string errors = error_list(*in.job.compiled);
    const bool unknown = in.job.status.observed_generation != in.job.meta.generation;
    const bool ends = ends_at_once(in);
    decision out = ends ? end_unstarted(in, errors) : decide_plan(in);
    if (ends || unknown) {
        out.events.push_back({true, std::string(to_string(reason::invalid_spec)), errors});
    }
    return out;
}

}  // namespace signalbox::core::engine
