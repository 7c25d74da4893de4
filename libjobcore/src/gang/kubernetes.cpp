// SPDX-License-Identifier: Apache-2.0
#include "gang/kubernetes.hpp"

#include "gang/words.hpp"

#include <fmt/format.h>

#include <array>

namespace signalbox::core {
namespace gang::of_kubernetes {
namespace {

constexpr std::array<std::string_view, 4> fields{
    "schedulingPolicy.gang.minCount",
    "schedulingConstraints.topology",
    "disruptionMode",
    "priorityClassName"};

constexpr object_kind_row v1beta1{
    "scheduling.k8s.io/v1beta1",
    "PodGroup",
    "podgroups",
    kind_use::gang,
    true,
    readiness::unsaid,
    fields};
constexpr std::array objects{object_kind(v1beta1)};

/// All pods of a group have one priority: what the job says, else what every template says.
std::string priority_class(const gang_plan& gang) {
    return gang.asked.has("priorityClassName") ? std::string(gang.asked.text("priorityClassName"))
                                               : gang.priority_class;
}

field_value text_or_theirs(std::string text) {
    return text.empty() ? field_value() : field_value(std::move(text));
}

field_value topology(std::string_view key) {
    if (key.empty()) {
        return {};
    }
    // The form of the field has no character that JSON escapes.
    return json_text{fmt::format(R"([{{"key":"{}"}}])", key)};
}

std::vector<field_value> values(const gang_state& s) {
    const bool single = s.asked().text("disruptionMode") == "Single";
    return {
        s.min_active,
        topology(s.asked().text("topologyKey")),
        json_text{single ? R"({"single":{}})" : R"({"all":{}})"},
        text_or_theirs(priority_class(*s.plan.gang))};
}

pod_marks marks(const job_plan& plan, std::size_t) {
    pod_marks out;
    out.spec.emplace_back(
        "schedulingGroup", json_text{fmt::format(R"({{"podGroupName":"{}"}})", plan.base_name)}
    );
    if (auto priority = priority_class(*plan.gang); !priority.empty()) {
        out.spec.emplace_back("priorityClassName", std::move(priority));
    }
    return out;
}

/// The condition is about the first time alone: after a restart it stays True.
gang_answer read(const json::value& object) {
    const auto scheduled = find_words(object, "PodGroupInitiallyScheduled");
    gang_answer out;
    if (scheduled.is_false) {
        out.is = gang_answer::state::waiting;
        out.words = scheduled.text();
    }
    const json::value* priority = json::find(object, "spec", "priority");
    if (priority != nullptr && priority->IsInt()) {
        out.priority = priority->GetInt();
    }
    return out;
}

/// A group with pods of two priorities, or of two schedulers, is never placed (BEHAVIOUR.md 8.7).
std::vector<objection> check(const job_plan& plan, std::span<const template_facts> templates) {
    std::vector<objection> out;
    const std::string wanted = priority_class(*plan.gang);
    const bool by_field = plan.gang->asked.has("priorityClassName");
    for (const template_facts& t : templates) {
        const bool same = t.priority_class == wanted || (by_field && t.priority_class.empty());
        if (!same) {
            out.push_back(
                {t.pointer + "/spec/priorityClassName",
                 fmt::format(
                     "All pods of a gang must have one priority class, \"{}\", not \"{}\": else "
                     "the "
                     "scheduler places none of them.",
                     wanted,
                     t.priority_class
                 )}
            );
        }
        if (t.scheduler_name != templates.front().scheduler_name) {
            out.push_back(
                {t.pointer + "/spec/schedulerName",
                 fmt::format(
                     "All pods of a gang must have one scheduler, \"{}\", not \"{}\": else none of "
                     "them is placed.",
                     templates.front().scheduler_name,
                     t.scheduler_name
                 )}
            );
        }
    }
    return out;
}

}  // namespace
}  // namespace gang::of_kubernetes

constinit const gang::scheduler gang::kubernetes{
    .name = "kubernetes",
    .objects = gang::of_kubernetes::objects,
    .tells = gang::admits::by_pods,
    .holds = {.by_number = true, .by_priority = true, .by_gate = true},
    .outlives_deletion = true,
    .values = gang::of_kubernetes::values,
    .member = {gang::member_mark::place::group},
    .marks = gang::of_kubernetes::marks,
    .read = gang::of_kubernetes::read,
    .check = gang::of_kubernetes::check,
    .by_choice = true};

}  // namespace signalbox::core
