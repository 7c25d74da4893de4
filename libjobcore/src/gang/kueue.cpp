// SPDX-License-Identifier: Apache-2.0
#include "gang/kueue.hpp"

#include "gang/kueue_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace signalbox::core {
namespace gang::of_kueue {

constinit const object_kind_row resource_flavor{
    "kueue.x-k8s.io/v1beta2", "ResourceFlavor", "resourceflavors", kind_use::reading};
constinit const object_kind_row workload_priority_class{
    "kueue.x-k8s.io/v1beta2",
    "WorkloadPriorityClass",
    "workloadpriorityclasses",
    kind_use::reading};

namespace {

constexpr std::array reads{object_kind(resource_flavor), object_kind(workload_priority_class)};

constexpr std::array<std::string_view, 4> fields{
    "queueName", "podSets", "priorityClassRef", "priority"};

constexpr object_kind_row v1beta2{
    "kueue.x-k8s.io/v1beta2",
    "Workload",
    "workloads",
    kind_use::gang,
    true,
    readiness::unsaid,
    fields};
constexpr std::array objects{object_kind(v1beta2)};

constexpr std::string_view class_field = "workloadPriorityClassName";

/// Kueue takes a minimum of one pod set alone. A job of one type can start with less.
std::int32_t least_of(const job_plan& plan) {
    const bool in_part = plan.elastic && plan.types.size() == 1;
    return in_part ? std::min(plan.elastic->min_replicas, plan.gang->sizes.front()) : 0;
}

/// All types, those of later stages too: all of them take quota.
std::string pod_sets(const job_plan& plan) {
    const std::int32_t least = least_of(plan);
    std::string out = "[";
    for (std::size_t i = 0; i < plan.gang->sizes.size(); ++i) {
        // Names of types have no character that JSON escapes.
        fmt::format_to(
            std::back_inserter(out),
            R"({}{{"name":"{}","count":{},{}"template":{}}})",
            i == 0 ? "" : ",",
            plan.types[i].name,
            plan.gang->sizes[i],
            least > 0 ? fmt::format(R"("minCount":{},)", least) : "",
            plan.gang->templates[i]
        );
    }
    return out + "]";
}

field_value class_reference(std::string_view name) {
    if (name.empty()) {
        return {};
    }
    // The form of the field has no character that JSON escapes.
    return json_text{fmt::format(
        R"({{"group":"kueue.x-k8s.io","kind":"WorkloadPriorityClass","name":"{}"}})", name
    )};
}

/// What pod sets have is compared by is_current: Kueue may leave a minimum out, servers fill
/// templates in. The priority is fixed when the object is made, and Kueue's from then on.
std::vector<field_value> values(const gang_state& s) {
    return {
        std::string(s.asked().text("queueName")),
        json_text{pod_sets(s.plan), /*compared=*/false},
        class_reference(s.asked().text(class_field)),
        s.priority ? field_value(std::int64_t{*s.priority}) : field_value()};
}

/// The pod sets ask for what the job wants by its specification.
bool is_current(const gang_state& s, const gang_answer& says) {
    const gang_plan& gang = *s.plan.gang;
    if (says.quota == nullptr || says.quota->sets.size() != gang.sizes.size()) {
        return false;
    }
    for (std::size_t i = 0; i < gang.sizes.size(); ++i) {
        const auto* set = says.quota->find(s.plan.types[i].name);
        if (set == nullptr || set->asked != gang.sizes[i]) {
            return false;
        }
    }
    return true;
}

/// Nothing that is known before the admission: what that gives is rendered with the pod.
pod_marks marks(const job_plan&, std::size_t) {
    return {};
}

std::optional<named_object> priority_class(const gang_request& asked) {
    const std::string_view name = asked.text(class_field);
    return name.empty() ? std::nullopt
                        : std::optional(named_object{
                              object_kind(workload_priority_class), std::string(name)});
}

std::optional<std::int32_t> priority(const json::value& object) {
    const json::value* v = json::find(object, "value");
    return v != nullptr && v->IsInt() ? std::optional(v->GetInt()) : std::nullopt;
}

constexpr quota_scheme scheme{
    .reads = reads,
    .priority_class = priority_class,
    .priority = priority,
    .flavors = flavors_of,
    .admit = admit,
    .status = status_of,
    .pod_template = template_of};

}  // namespace
}  // namespace gang::of_kueue

constinit const gang::scheduler gang::kueue{
    .name = "kueue",
    .objects = gang::of_kueue::objects,
    .tells = gang::admits::by_quota,
    .values = gang::of_kueue::values,
    .marks = gang::of_kueue::marks,
    .read = gang::of_kueue::read,
    .is_current = gang::of_kueue::is_current,
    .quota = &gang::of_kueue::scheme};

}  // namespace signalbox::core
