// SPDX-License-Identifier: Apache-2.0
#include "engine/facts/gang_version.hpp"

#include "gang/scheduler.hpp"

#include <algorithm>

namespace signalbox::core::engine {

std::optional<job_plan> plan_of_version(
    const job_plan& plan, std::span<const served_kind> served_kinds
) {
    if (!plan.gang || plan.gang->by->objects.size() < 2) {
        return std::nullopt;
    }
    const auto& versions = plan.gang->by->objects;
    const auto found = std::ranges::find_if(versions, [&](object_kind kind) {
        return served_of(served_kinds, kind) == served::yes;
    });
    if (found == versions.end() || *found == plan.objects.front().kind) {
        return std::nullopt;
    }
    job_plan out = plan;
    out.objects.front().kind = *found;
    return out;
}

}  // namespace signalbox::core::engine
