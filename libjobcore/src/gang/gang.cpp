// SPDX-License-Identifier: Apache-2.0
#include "gang/gang.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace signalbox::core::gang {

gang_plan plan_members(const job_plan& plan, const job_spec& spec) {
    gang_plan out;
    if (!plan.pod_stages.empty()) {
        out.members = plan.pod_stages.front();
    } else {
        for (std::size_t type = 0; type < plan.types.size(); ++type) {
            out.members.push_back(type);
        }
    }
    std::int64_t created = 0;
    for (const std::size_t type : out.members) {
        created += plan.types[type].wanted;
    }
    // An elastic job may start with fewer than it wants (BEHAVIOUR.md 8.2).
    const std::int64_t minimum =
        spec.elastic ? std::min<std::int64_t>(spec.elastic->min_replicas, created) : created;
    out.min_member = static_cast<std::int32_t>(
        std::min<std::int64_t>(minimum, std::numeric_limits<std::int32_t>::max())
    );
    return out;
}

void add_to(job_plan& plan, const job_spec& spec) {
    if (!spec.scheduler) {
        return;
    }
    const auto schedulers = all_schedulers();
    const auto named = std::ranges::find(schedulers, spec.scheduler->name, &scheduler::name);
    if (named == schedulers.end()) {
        return;
    }
    plan.gang = plan_members(plan, spec);
    plan.gang->by = *named;
    plan.gang->queue = spec.scheduler->queue;
    plan.gang->priority = spec.scheduler->priority;
    planned_object group;
    group.kind = plan.gang->by->object;
    group.name = plan.base_name;
    plan.objects.insert(plan.objects.begin(), std::move(group));
}

std::vector<field_value> object_values(const job_plan& plan, std::span<const std::int32_t> wanted) {
    const gang_plan& gang = *plan.gang;
    std::int64_t created = 0;
    for (const std::size_t type : gang.members) {
        created += type < wanted.size() ? wanted[type] : plan.types[type].wanted;
    }
    return gang.by->values(gang, std::min<std::int64_t>(gang.min_member, created));
}

std::optional<pod_marks> marks_of(const job_plan& plan, std::size_t type) {
    return plan.gang ? std::optional(plan.gang->by->marks(plan, type)) : std::nullopt;
}

}  // namespace signalbox::core::gang
