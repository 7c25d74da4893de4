// SPDX-License-Identifier: Apache-2.0
#include "gang/t9k.hpp"

#include <array>

namespace signalbox::core {
namespace gang::of_t9k {
namespace {

constexpr std::array<std::string_view, 3> fields{"minMember", "queue", "priority"};
constexpr std::array objects{object_kind::pod_group};

std::vector<field_value> values(const gang_state& s) {
    return {s.min_member, std::string(s.asked().text("queue")), s.asked().number("priority")};
}

pod_marks marks(const job_plan& plan, std::size_t type) {
    pod_marks out;
    out.scheduler_name = "t9k-scheduler";
    out.labels = {
        {"scheduler.tensorstack.dev/group-name", plan.base_name},
        {"scheduler.tensorstack.dev/queue", std::string(plan.gang->asked.text("queue"))},
        {"scheduler.tensorstack.dev/role", plan.types[type].name},
    };
    return out;
}

}  // namespace
}  // namespace gang::of_t9k

constinit const object_kind_row kind_rows::pod_group{
    "scheduler.tensorstack.dev/v1beta1",
    "PodGroup",
    "podgroups",
    kind_use::gang,
    true,
    readiness::unsaid,
    gang::of_t9k::fields};

constinit const gang::scheduler gang::t9k{
    .name = "t9kScheduler",
    .objects = gang::of_t9k::objects,
    .values = gang::of_t9k::values,
    .member = {gang::member_mark::place::label, "scheduler.tensorstack.dev/group-name"},
    .marks = gang::of_t9k::marks,
    .by_choice = true};

}  // namespace signalbox::core
