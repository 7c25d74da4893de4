// SPDX-License-Identifier: Apache-2.0
#include "gang/volcano.hpp"

#include "gang/words.hpp"

#include <fmt/format.h>

#include <array>

namespace signalbox::core {
namespace gang::of_volcano {
namespace {

constexpr std::array<std::string_view, 3> fields{"minMember", "queue", "priorityClassName"};

constexpr object_kind_row v1beta1{
    "scheduling.volcano.sh/v1beta1",
    "PodGroup",
    "podgroups",
    kind_use::gang,
    true,
    readiness::unsaid,
    fields};
constexpr std::array objects{object_kind(v1beta1)};

/// What the job does not say is the server's to fill: it has a queue by default.
field_value asked(const gang_state& s, std::string_view field) {
    return s.asked().has(field) ? field_value(std::string(s.asked().text(field))) : field_value();
}

std::vector<field_value> values(const gang_state& s) {
    return {s.min_active, asked(s, "queue"), asked(s, "priorityClassName")};
}

pod_marks marks(const job_plan& plan, std::size_t) {
    pod_marks out;
    out.scheduler_name = "volcano";
    out.annotations = {{"scheduling.k8s.io/group-name", plan.base_name}};
    return out;
}

/// Phases after Inqueue are of a group that was let in.
gang_answer read(const json::value& object) {
    gang_answer out;
    const std::string_view phase = phase_of(object);
    if (phase == "Inqueue" || phase == "Running" || phase == "Unknown" || phase == "Completed") {
        out.is = gang_answer::state::admitted;
    } else if (!phase.empty()) {
        out.is = gang_answer::state::waiting;
    }
    const auto unschedulable = find_words(object, "Unschedulable");
    out.words = unschedulable.is_true ? unschedulable.text()
                : phase.empty()       ? std::string()
                                      : bounded(fmt::format("phase {}", phase));
    return out;
}

}  // namespace
}  // namespace gang::of_volcano

constinit const gang::scheduler gang::volcano{
    .name = "volcano",
    .objects = gang::of_volcano::objects,
    .tells = gang::admits::before_pods,
    .values = gang::of_volcano::values,
    .member = {gang::member_mark::place::annotation, "scheduling.k8s.io/group-name"},
    .marks = gang::of_volcano::marks,
    .read = gang::of_volcano::read,
    .by_choice = true};

}  // namespace signalbox::core
