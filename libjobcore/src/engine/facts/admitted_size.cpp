// SPDX-License-Identifier: Apache-2.0
#include "engine/facts/admitted_size.hpp"

#include "gang/scheduler.hpp"

#include <algorithm>
#include <utility>

namespace signalbox::core::engine {

std::optional<job_plan> plan_of_admission(const job_plan& plan, const job_status& status) {
    if (!status.admission || !plan.elastic || !plan.gang || plan.gang->by->quota == nullptr) {
        return std::nullopt;
    }
    const auto exceeds = [&](const type_plan& type) {
        const admitted_type* given = status.admission->find(type.name);
        return given != nullptr && given->count < type.wanted;
    };
    if (std::ranges::none_of(plan.types, exceeds)) {
        return std::nullopt;
    }
    job_plan out = plan;
    for (type_plan& type : out.types) {
        if (exceeds(type)) {
            type.wanted = status.admission->find(type.name)->count;
        }
    }
    return out;
}

}  // namespace signalbox::core::engine
