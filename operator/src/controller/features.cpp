// SPDX-License-Identifier: Apache-2.0
#include "controller/features.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace signalbox::op {

namespace {

/// There unless they are left out.
constexpr feature_row usual[] = {
    {feature::ssh, "ssh", "ColossalAIJobs, and DeepSpeedJobs that use ssh, get no pods"},
    {feature::gang, "gang", "jobs that ask for a gang scheduler wait"},
    {feature::tensorboard, "tensorboard", "jobs that ask for a TensorBoard run without"},
    {feature::events, "events", "no events are written about jobs"},
};
constexpr feature_row asked_for[] = {
    {feature::logs, "logs", "why pods fail is told by their termination messages"},
    {feature::progress, "progress", "no reports of progress are received"},
};
constexpr feature_row schedulers[] = {
    {feature::kubernetes, "kubernetes", "jobs that ask for this scheduler wait"},
    {feature::kueue, "kueue", "jobs that ask for quota of it wait"},
    {feature::coscheduling, "coscheduling", "jobs that ask for this scheduler wait"},
    {feature::volcano, "volcano", "jobs that ask for this scheduler wait"},
};

/// By the group of what it places pods by.
constexpr std::pair<std::string_view, feature> scheduler_groups[] = {
    {"scheduling.k8s.io/", feature::kubernetes},
    {"kueue.x-k8s.io/", feature::kueue},
    {"scheduling.x-k8s.io/", feature::coscheduling},
    {"scheduling.volcano.sh/", feature::volcano},
};

}  // namespace

std::span<const feature_row> all_features() {
    return usual;
}

std::span<const feature_row> scheduler_features() {
    return schedulers;
}

feature_set left_out_by_default() {
    feature_set out;
    for (const feature_row& row : scheduler_features()) {
        out.insert(row.which);
    }
    return out;
}

const feature_row& row_of(feature which) {
    const feature_row* found = nullptr;
    for (const std::span<const feature_row> rows :
         {all_features(), std::span<const feature_row>(asked_for), scheduler_features()}) {
        for (const feature_row& row : rows) {
            found = row.which == which ? &row : found;
        }
    }
    return *found;
}

std::optional<feature> parse_feature(std::string_view name) {
    const auto found = std::ranges::find(all_features(), name, &feature_row::name);
    return found == all_features().end() ? std::nullopt : std::optional(found->which);
}

std::optional<feature> feature_of(core::object_kind kind) {
    if (kind->use == core::kind_use::gang || kind->use == core::kind_use::reading) {
        const auto by_group = std::ranges::find_if(scheduler_groups, [&](const auto& row) {
            return kind->api_version.starts_with(row.first);
        });
        return by_group == std::end(scheduler_groups) ? feature::gang : by_group->second;
    }
    if (kind->use == core::kind_use::companion) {
        return feature::tensorboard;
    }
    const bool of_ssh = kind == core::object_kind::secret || kind == core::object_kind::config_map;
    return of_ssh ? std::optional(feature::ssh) : std::nullopt;
}

bool is_wanted(core::object_kind kind, const feature_set& without) {
    const auto of = feature_of(kind);
    return !of || without.count(*of) == 0;
}

}  // namespace signalbox::op
