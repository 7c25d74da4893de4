// SPDX-License-Identifier: Apache-2.0
#include "jobcore/cause.hpp"

#include "engine/decide.hpp"
#include "engine/facts/reasons.hpp"
#include "engine/rules/open.hpp"
#include "jobcore/strings.hpp"

#include <utility>

namespace signalbox::core {
namespace {

/// Calls `read(context, health)` with what is lost of the attempt, ended or not.
template <class Read>
void look_at_losses(
    const job_object& job, const observed& seen, const policy& rules, instant now, Read read
) {
    if (!job.compiled) {
        return;
    }
    const bool invalid = !job.compiled->plan;
    const job_plan plan = invalid ? engine::plan_from_record(job) : *job.compiled->plan;
    const engine::inputs in{job, plan, seen, rules, now, invalid};
    const engine::pod_view view = engine::make_view(in, job.status);
    const engine::context c{in, job.status, view};
    engine::health h;
    engine::examine_replicas(c, h);
    read(c, h);
}

}  // namespace

std::vector<log_of_failure> logs_of_failures(
    const job_object& job, const observed& seen, const policy& rules, instant now
) {
    std::vector<log_of_failure> out;
    look_at_losses(job, seen, rules, now, [&](const engine::context& c, const engine::health& h) {
        for (engine::log_wanted& log : engine::logs_that_tell(c, h)) {
            out.push_back({std::move(log.pod), std::move(log.pod_uid), std::move(log.container)});
        }
    });
    return out;
}

std::optional<named_failure> find_cause(
    const job_object& job, const observed& seen, const policy& rules, instant now
) {
    std::optional<named_failure> out;
    look_at_losses(job, seen, rules, now, [&](const engine::context&, const engine::health& h) {
        const engine::loss* first = engine::first_failure(h.losses);
        if (first != nullptr && first->pod != nullptr) {
            const std::string& whose = first->told_by.empty() ? first->pod->uid : first->told_by;
            out = {whose, in_one_line(first->message), first->secondary};
        }
    });
    return out;
}

std::vector<std::string_view> incident_causes() {
    std::vector<std::string_view> out;
    for (const auto& row : engine::cause_words) {
        out.push_back(row.text);
    }
    return out;
}

}  // namespace signalbox::core
