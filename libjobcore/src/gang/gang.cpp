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
        for (std::size_t role = 0; role < plan.roles.size(); ++role) {
            out.members.push_back(role);
        }
    }
    std::int64_t created = 0;
    for (const std::size_t role : out.members) {
        created += plan.roles[role].wanted;
    }
    // An elastic job may start with fewer than it wants (BEHAVIOUR.md 8.2).
    const std::int64_t minimum =
        spec.elastic ? std::min<std::int64_t>(spec.elastic->min_replicas, created) : created;
    out.min_member = static_cast<std::int32_t>(
        std::min<std::int64_t>(minimum, std::numeric_limits<std::int32_t>::max())
    );
    return out;
}

namespace {

/// The scheduler of T9k (`scheduler.t9kScheduler`): a PodGroup, which its pods name by a label.
void add_t9k(job_plan& plan, const t9k_scheduler& scheduler) {
    plan.gang->queue = scheduler.queue;
    plan.gang->priority = scheduler.priority;
    planned_object group;
    group.kind = object_kind::pod_group;
    group.name = plan.base_name;
    plan.objects.insert(plan.objects.begin(), std::move(group));
}

pod_marks t9k_marks(const job_plan& plan, std::size_t role) {
    pod_marks marks;
    marks.scheduler_name = "t9k-scheduler";
    marks.labels = {
        {"scheduler.tensorstack.dev/group-name", plan.base_name},
        {"scheduler.tensorstack.dev/queue", plan.gang->queue},
        {"scheduler.tensorstack.dev/role", plan.roles[role].type},
    };
    return marks;
}

}  // namespace

void add_to(job_plan& plan, const job_spec& spec) {
    if (spec.scheduler) {
        plan.gang = plan_members(plan, spec);
        add_t9k(plan, *spec.scheduler);
    }
}

std::optional<pod_marks> marks_of(const job_plan& plan, std::size_t role) {
    return plan.gang ? std::optional(t9k_marks(plan, role)) : std::nullopt;
}

}  // namespace signalbox::core::gang
