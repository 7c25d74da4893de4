// SPDX-License-Identifier: Apache-2.0
#include "controller/features.hpp"

#include <algorithm>

namespace signalbox::op {

namespace {

constexpr feature_row rows[] = {
    {feature::ssh, "ssh", "ColossalAIJobs, and DeepSpeedJobs that use ssh, get no pods"},
    {feature::gang, "gang", "jobs that ask for a gang scheduler wait"},
    {feature::tensorboard, "tensorboard", "jobs that ask for a TensorBoard run without"},
    {feature::events, "events", "no events are written about jobs"},
    {feature::logs, "logs", "why pods fail is told by their termination messages"},
};

}  // namespace

std::span<const feature_row> all_features() {
    return std::span(rows).first(std::size(rows) - 1);
}

const feature_row& row_of(feature which) {
    return *std::ranges::find(rows, which, &feature_row::which);
}

std::optional<feature> parse_feature(std::string_view name) {
    const auto found = std::ranges::find(all_features(), name, &feature_row::name);
    return found == all_features().end() ? std::nullopt : std::optional(found->which);
}

std::optional<feature> feature_of(core::object_kind kind) {
    if (kind->use == core::kind_use::gang) {
        return feature::gang;
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
