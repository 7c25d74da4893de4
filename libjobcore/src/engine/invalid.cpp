// SPDX-License-Identifier: Apache-2.0
#include "engine/invalid.hpp"

#include "engine/pass.hpp"

#include <fmt/format.h>

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

/// What is left of a plan when the specification says nothing: the recorded sizes. Pods are told
/// apart by labels and record, so that the deciding pod's result still counts.
job_plan plan_from_record(const job_object& job) {
    job_plan plan;
    plan.kind = job.meta.kind;
    plan.job_name = job.meta.name;
    plan.ns = job.meta.ns;
    plan.job_uid = job.meta.uid;
    plan.base_name = fmt::format("{}-{}", job.meta.name, name_hash(job.meta.name, job.meta.uid));
    for (const task_status& task : job.status.tasks) {
        role_plan role;
        role.type = task.type;
        role.wanted = task.wanted;
        plan.roles.push_back(std::move(role));
    }
    return plan;  // status lists the deciding pod's type first: master_role 0
}

job_spec spec_from_fragments(const compiled_job& compiled) {
    job_spec spec;
    spec.mode.pause = compiled.fragments.pause;
    spec.policy.active_deadline_seconds = compiled.fragments.active_deadline_seconds;
    return spec;
}

}  // namespace

decision decide_invalid(
    const job_object& job, const observed& seen, const policy& rules, instant now
) {
    const compiled_job& compiled = *job.compiled;
    const std::string errors = error_list(compiled);
    const bool started =
        job.status.attempt > 0 && !job.status.tasks.empty() && job.status.tasks.front().wanted > 0;
    if (started) {
        const job_plan plan = plan_from_record(job);
        const job_spec spec = spec_from_fragments(compiled);
        decision out = decide_valid(job, spec, plan, seen, rules, now, /*frozen=*/true);
        if (job.status.observed_generation != job.meta.generation) {
            out.events.push_back({true, std::string(reason::invalid_spec), errors});
        }
        return out;
    }
    if (is_final(job.status.phase)) {
        return {};
    }
    const job_spec spec;
    const job_plan plan;
    pass p{job, spec, plan, seen, rules, now, true};
    p.next = job.status;
    finish(p, job_phase::failed, reason::invalid_spec, errors);
    p.out.events.clear();  // InvalidSpec tells it all
    p.warning(reason::invalid_spec, errors);
    p.next.observed_generation = job.meta.generation;
    p.out.status = std::move(p.next);
    return std::move(p.out);
}

}  // namespace signalbox::core::engine
