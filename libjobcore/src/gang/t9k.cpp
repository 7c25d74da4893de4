// SPDX-License-Identifier: Apache-2.0
#include "gang/t9k.hpp"

#include <array>

namespace signalbox::core {
namespace {

constexpr std::array<std::string_view, 3> fields{"minMember", "queue", "priority"};

std::vector<gang::field_value> values(const gang_plan& gang, std::int64_t min_member) {
    return {min_member, gang.queue, std::int64_t{gang.priority}};
}

gang::pod_marks marks(const job_plan& plan, std::size_t type) {
    gang::pod_marks out;
    out.scheduler_name = "t9k-scheduler";
    out.labels = {
        {"scheduler.tensorstack.dev/group-name", plan.base_name},
        {"scheduler.tensorstack.dev/queue", plan.gang->queue},
        {"scheduler.tensorstack.dev/role", plan.types[type].name},
    };
    return out;
}

}  // namespace

constinit const object_kind_row kind_rows::pod_group{
    "scheduler.tensorstack.dev/v1beta1",
    "PodGroup",
    "podgroups",
    kind_use::gang,
    true,
    readiness::unsaid,
    fields};

constinit const gang::scheduler gang::t9k{"t9kScheduler", object_kind::pod_group, values, marks};

}  // namespace signalbox::core
