// SPDX-License-Identifier: Apache-2.0
#include "gang/coscheduling.hpp"

#include "gang/words.hpp"

#include <fmt/format.h>

#include <array>

namespace signalbox::core {
namespace gang::of_coscheduling {
namespace {

constexpr std::array<std::string_view, 2> fields{"minMember", "scheduleTimeoutSeconds"};

constexpr object_kind_row v1alpha1{
    "scheduling.x-k8s.io/v1alpha1",
    "PodGroup",
    "podgroups",
    kind_use::gang,
    true,
    readiness::unsaid,
    fields};
constexpr std::array objects{object_kind(v1alpha1)};

std::vector<field_value> values(const gang_state& s) {
    const bool bounded = s.asked().has("timeoutSeconds");
    return {
        s.min_active, bounded ? field_value(s.asked().number("timeoutSeconds")) : field_value()};
}

pod_marks marks(const job_plan& plan, std::size_t) {
    pod_marks out;
    out.labels = {{"scheduling.x-k8s.io/pod-group", plan.base_name}};
    return out;
}

/// The phase is of the first start, and says nothing of a restart: it counts while pods wait.
gang_answer read(const json::value& object) {
    gang_answer out;
    const std::string_view phase = phase_of(object);
    if (phase == "Pending" || phase == "PreScheduling" || phase == "Scheduling") {
        out.is = gang_answer::state::waiting;
        out.words = fmt::format("phase {}", phase);
    }
    return out;
}

}  // namespace
}  // namespace gang::of_coscheduling

constinit const gang::scheduler gang::coscheduling{
    .name = "coscheduling",
    .objects = gang::of_coscheduling::objects,
    .tells = gang::admits::by_pods,
    .holds = {.by_number = true, .by_gate = true},
    .values = gang::of_coscheduling::values,
    .member = {gang::member_mark::place::label, "scheduling.x-k8s.io/pod-group"},
    .marks = gang::of_coscheduling::marks,
    .read = gang::of_coscheduling::read};

}  // namespace signalbox::core
