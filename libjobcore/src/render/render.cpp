// SPDX-License-Identifier: Apache-2.0
//
// From a plan to names and Pods.
#include "gang/gang.hpp"
#include "jobcore/plan.hpp"
#include "kubernetes/base64.hpp"
#include "render/admitted_pod.hpp"
#include "render/avoid_nodes.hpp"
#include "render/progress_access.hpp"
#include "render/render_data.hpp"
#include "strings/fnv1a.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <span>
#include <string>

namespace signalbox::core {
namespace {

constexpr const char* companion_suffix = "-tensorboard";

void append_number(std::string& out, std::int64_t value) {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    out.append(digits.data(), end);
}

void append_hostname(std::string& out, const job_plan& plan, const pod_identity& pod) {
    out.append(plan.base_name).append(1, '-').append(plan.types[pod.type].name).append(1, '-');
    append_number(out, pod.index);
}

void append_pod_name(std::string& out, const job_plan& plan, const pod_identity& pod) {
    append_hostname(out, plan, pod);
    if (pod.rename > 0) {
        out.append("-r");
        append_number(out, pod.rename);
    }
}

/// The pods in force of all types before `type` (BEHAVIOUR.md 3.5, 7.2).
std::int64_t pods_before(
    const job_plan& plan, std::size_t type, std::span<const std::int32_t> wanted
) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < type; ++i) {
        sum += replicas_in_force(plan, i, wanted);
    }
    return sum;
}

/// `{"worker-0":[0,1],...}` in URL-safe base64. Ranks are counted in this order; the names are
/// shown in logs only, and short ones let a large job fit into one argument.
void append_world_info(
    std::string& out, const job_plan& plan, std::size_t type, std::span<const std::int32_t> wanted
) {
    std::string slots = "[";
    for (std::int32_t i = 0; i < plan.render->slots; ++i) {
        slots += (i == 0 ? "" : ",") + std::to_string(i);
    }
    slots += ']';
    std::string text = "{";
    const std::int32_t count = replicas_in_force(plan, type, wanted);
    for (std::int32_t i = 0; i < count; ++i) {
        text += (i == 0 ? "\"" : ",\"") + plan.types[type].name + '-' + std::to_string(i) +
                "\":" + slots;
    }
    out += kubernetes::base64_encode(text + '}', kubernetes::base64_alphabet::url);
}

void append_filling(
    filling what,
    std::string& out,
    const job_plan& plan,
    const pod_identity& pod,
    const render_options& options
) {
    const std::span<const std::int32_t> wanted = options.wanted;
    switch (what) {
        case filling::pod_name:
            return append_pod_name(out, plan, pod);
        case filling::hostname:
            return append_hostname(out, plan, pod);
        case filling::address:
            append_hostname(out, plan, pod);
            out += '.';
            out += plan.base_name;
            return;
        case filling::index:
            return append_number(out, pod.index);
        case filling::attempt:
            return append_number(out, pod.attempt);
        case filling::round:
            return append_number(out, pod.round);
        case filling::rank:
            return append_number(out, pods_before(plan, pod.type, wanted) + pod.index);
        case filling::world_size:
            return append_number(out, pods_before(plan, plan.types.size(), wanted));
        case filling::gang_minimum:
            return append_number(out, gang::state_of(plan, options).min_active);
        case filling::world_info:
            return append_world_info(out, plan, pod.type, wanted);
    }
}

}  // namespace

std::int32_t replicas_in_force(
    const job_plan& plan, std::size_t type, std::span<const std::int32_t> wanted
) {
    return type < wanted.size() ? wanted[type] : plan.types[type].wanted;
}

std::string name_hash(std::string_view job_name, std::string_view uid) {
    std::array<char, 17> digits;
    const auto hash = fnv1a().bytes(job_name).bytes(uid).value();
    std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(hash));
    return {digits.data(), 5};
}

std::string pod_name(const job_plan& plan, const pod_identity& pod) {
    std::string out;
    append_pod_name(out, plan, pod);
    return out;
}

// It is a Service's name and the value of a label, hence 63 characters at most: of a longer job
// name the beginning stands in it. The hash tells it from others.
std::string companion_name(const job_plan& plan) {
    constexpr std::size_t room = 45;
    const std::string hash = plan.base_name.substr(plan.job_name.size());
    return plan.job_name.substr(0, room) + hash + companion_suffix;
}

// Each decision asks it of each child, and few names end so that ours has to be made.
bool is_companion(const job_plan& plan, object_kind kind, std::string_view name) {
    return kind->use == kind_use::companion ||
           (name.ends_with(companion_suffix) && name == companion_name(plan));
}

const planned_object* find_object(const job_plan& plan, std::size_t number) {
    if (number < plan.objects.size()) {
        return &plan.objects[number];
    }
    number -= plan.objects.size();
    return number < plan.companions.size() ? &plan.companions[number] : nullptr;
}

std::string object_name(const planned_object& object, std::int32_t attempt) {
    std::string out = object.name;
    if (object.name_has_attempt) {
        out += '-';
        append_number(out, attempt);
    }
    return out;
}

std::string render_pod(
    const job_plan& plan, const pod_identity& pod, const render_options& options
) {
    std::string out;
    if (plan.render == nullptr || pod.type >= plan.render->types.size()) {
        return out;  // a type that the specification had
    }
    const auto& type = plan.render->types[pod.type];
    if (type.programs.empty()) {
        return out;  // compile_plan reported an error; the plan is not to be used
    }
    const bool deciding = pod.type == plan.deciding_type && pod.index == 0;
    const program& p = type.programs[type.choice[deciding ? 1 : 0][options.resumed ? 1 : 0]];
    out.reserve(p.text.size() + p.gaps.size() * 24);
    p.expand(out, [&](filling what, std::string& to) {
        append_filling(what, to, plan, pod, options);
    });
    const admitted_type* given =
        options.admission ? options.admission->find(plan.types[pod.type].name) : nullptr;
    if (given != nullptr) {
        out = with_admitted_marks(std::move(out), given->marks);
    }
    out = with_avoided_nodes(std::move(out), options.avoid);
    if (!options.reports.url.empty()) {
        out = with_progress_access(std::move(out), plan, options);
    }
    return out;
}

}  // namespace signalbox::core
