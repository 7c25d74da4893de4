// SPDX-License-Identifier: Apache-2.0
//
// What a Workload of Kueue says. Takes any JSON.
#include "gang/kueue_parts.hpp"
#include "gang/words.hpp"
#include "jobcore/strings.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::core::gang::of_kueue {
namespace {

constexpr std::size_t most_name = 253;
constexpr std::size_t most_flavors = 64;
constexpr std::int32_t most_pods = 10'000;

std::int32_t count_in(const json::value& object, std::string_view key) {
    const json::value* v = json::find(object, key);
    return v != nullptr && v->IsInt() ? std::clamp(v->GetInt(), 0, most_pods) : 0;
}

std::string name_in(const json::value& object, std::string_view key) {
    return std::string(first_bytes(json::string_or_empty(object, key), most_name));
}

/// Calls `take` for the objects of a list.
template <class Take>
void for_each(const json::value* list, Take take) {
    if (list == nullptr || !list->IsArray()) {
        return;
    }
    for (const json::value& item : list->GetArray()) {
        if (item.IsObject()) {
            take(item);
        }
    }
}

quota_answer::pod_set* find_set(quota_answer& out, std::string_view type) {
    const auto it = std::ranges::find(out.sets, type, &quota_answer::pod_set::type);
    return it == out.sets.end() ? nullptr : &*it;
}

void read_sets(const json::value& workload, quota_answer& out) {
    for_each(json::find(workload, "spec", "podSets"), [&](const json::value& set) {
        std::string name = name_in(set, "name");
        if (out.sets.size() < most_pod_sets && find_set(out, name) == nullptr) {
            out.sets.push_back({std::move(name), count_in(set, "count")});
        }
    });
}

void read_flavors(const json::value& assignment, quota_answer::pod_set& set) {
    const json::value* flavors = json::find(assignment, "flavors");
    if (flavors == nullptr || !flavors->IsObject()) {
        return;
    }
    for (const auto& [resource, flavor] : flavors->GetObject()) {
        std::string name = flavor.IsString()
                               ? std::string(first_bytes(json::view(flavor), most_name))
                               : std::string();
        const bool known = std::ranges::find(set.flavors, name) != set.flavors.end();
        if (!name.empty() && !known && set.flavors.size() < most_flavors) {
            set.flavors.push_back(std::move(name));
        }
    }
    std::ranges::sort(set.flavors);
}

void read_assignments(const json::value& workload, quota_answer& out) {
    const json::value* list = json::find(workload, "status", "admission", "podSetAssignments");
    for_each(list, [&](const json::value& assignment) {
        if (auto* set = find_set(out, json::string_or_empty(assignment, "name"))) {
            // Without a count all of them have quota.
            const bool said = json::find(assignment, "count") != nullptr;
            set->count = said ? count_in(assignment, "count") : set->asked;
            read_flavors(assignment, *set);
        }
    });
    for_each(json::find(workload, "status", "reclaimablePods"), [&](const json::value& back) {
        if (auto* set = find_set(out, json::string_or_empty(back, "name"))) {
            set->reclaimed = count_in(back, "count");
        }
    });
}

void append(admitted_marks& to, admitted_marks more) {
    const auto move_all = [](auto& from, auto& into) {
        into.insert(into.end(), from.begin(), from.end());
    };
    move_all(more.node_selector, to.node_selector);
    move_all(more.labels, to.labels);
    move_all(more.annotations, to.annotations);
    move_all(more.tolerations, to.tolerations);
}

/// What the checks of the queue want, and the first that is not done.
std::string read_checks(const json::value& workload, quota_answer& out) {
    std::string waits;
    for_each(json::find(workload, "status", "admissionChecks"), [&](const json::value& check) {
        for_each(json::find(check, "podSetUpdates"), [&](const json::value& update) {
            if (auto* set = find_set(out, json::string_or_empty(update, "name"))) {
                append(set->marks, read_marks(update));
            }
        });
        const std::string_view state = json::string_or_empty(check, "state");
        if (waits.empty() && state != "Ready") {
            const std::string_view said = json::string_or_empty(check, "message");
            waits = bounded(fmt::format(
                "admission check {} is {}{}{}",
                json::string_or_empty(check, "name"),
                state.empty() ? "Pending" : state,
                said.empty() ? "" : ": ",
                said
            ));
        }
    });
    return waits;
}

bool is_deactivated(const json::value& workload) {
    const json::value* active = json::find(workload, "spec", "active");
    return active != nullptr && active->IsFalse();
}

}  // namespace

gang_answer read(const json::value& workload) {
    auto quota = std::make_shared<quota_answer>();
    const auto reserved = find_words(workload, "QuotaReserved");
    const auto evicted = find_words(workload, "Evicted");
    const json::value* conditions = json::find(workload, "status", "conditions");
    quota->reserved = reserved.is_true;
    quota->admitted = reserved.is_true && find_words(workload, "Admitted").is_true;
    quota->evicted = reserved.is_true && evicted.is_true;
    quota->finished = find_words(workload, "Finished").is_true;
    quota->ready = find_words(workload, "PodsReady").is_true;
    quota->since = reserved.is_true ? first_bytes(reserved.since, 64) : std::string_view();
    const json::value* spec = json::find(workload, "spec");
    quota->queue = spec == nullptr ? std::string() : name_in(*spec, "queueName");
    quota->conditions =
        conditions != nullptr && conditions->IsArray() ? json::to_text(*conditions) : "[]";
    read_sets(workload, *quota);
    read_assignments(workload, *quota);
    const std::string waits = read_checks(workload, *quota);

    gang_answer out;
    out.fixed = quota->reserved;
    out.is = quota->admitted && !quota->evicted && !quota->finished ? gang_answer::state::admitted
                                                                    : gang_answer::state::waiting;
    out.words = quota->evicted             ? evicted.text()
                : is_deactivated(workload) ? "it is deactivated: its spec.active has to become true"
                : quota->reserved          ? waits
                                           : reserved.text();
    out.quota = std::move(quota);
    return out;
}

}  // namespace signalbox::core::gang::of_kueue
