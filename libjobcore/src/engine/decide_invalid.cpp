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

/// What is left of a plan when the specification says little: the recorded sizes, and fields that
/// are valid by themselves. Pods are told apart by labels and record, and say which container
/// trains, so that the deciding pod's result still counts.
job_plan plan_from_record(const job_object& job) {
    job_plan plan;
    plan.kind = job.meta.kind;
    plan.job_name = job.meta.name;
    plan.ns = job.meta.ns;
    plan.job_uid = job.meta.uid;
    plan.base_name = fmt::format("{}-{}", job.meta.name, name_hash(job.meta.name, job.meta.uid));
    plan.paused = job.compiled->fragments.pause;
    plan.run = job.compiled->fragments.run;
    plan.retryable_codes = retryable_codes(plan.kind);
    if (!restarts(plan.kind)) {
        plan.scope = scope_rule::no_restart;  // its clean-up goes by role
    }
    for (const task_status& task : job.status.tasks) {
        role_plan role;
        role.type = task.type;
        role.wanted = task.wanted;
        role.restart = written_policy(job.compiled->fragments, task.type);
        plan.roles.push_back(std::move(role));
    }
    return plan;  // status lists the deciding pod's type first: master_role 0
}

/// The end of a job that has nothing yet.
decision end_unstarted(const inputs& in, const std::string& errors) {
    const job_end end{job_phase::failed, reason::invalid_spec, errors};
    const pod_view nothing;
    decision out;
    out.status = apply(in, in.job.status, end);
    out.status->conditions = show_end({in, in.job.status, nothing}, end);
    out.status->observed_generation = in.job.meta.generation;
    return out;
}

}  // namespace

decision decide_invalid(
    const job_object& job, const observed& seen, const policy& policy, instant now
) {
    const std::string errors = error_list(*job.compiled);
    const event told{true, std::string(reason::invalid_spec), errors};
    const bool started =
        job.status.attempt > 0 && !job.status.tasks.empty() && job.status.tasks.front().wanted > 0;
    if (started) {
        const job_plan plan = plan_from_record(job);
        decision out = decide_plan({job, plan, seen, policy, now, /*invalid=*/true});
        if (job.status.observed_generation != job.meta.generation) {
            out.events.push_back(told);
        }
        return out;
    }
    if (is_final(job.status.phase)) {
        return {};
    }
    const job_plan none;
    decision out = end_unstarted({job, none, seen, policy, now, /*invalid=*/true}, errors);
    out.events.push_back(told);
    return out;
}

}  // namespace signalbox::core::engine
