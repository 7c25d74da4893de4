// SPDX-License-Identifier: Apache-2.0
//
// One scheduler of gangs: all that is particular to it (BEHAVIOUR.md 8). A further one is a file
// that defines such a value, and its line in schedulers.cpp.
#pragma once

#include "jobcore/object_kind.hpp"
#include "jobcore/plan.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace signalbox::core::gang {

/// What a scheduler wants of every pod, launchers of later stages included.
struct pod_marks {
    std::string_view scheduler_name;  ///< empty: the cluster's own
    std::vector<std::pair<std::string_view, std::string>> labels;
    std::vector<std::pair<std::string_view, std::string>> annotations;
    /// Names of scheduling gates, which the scheduler takes off when the gang may start.
    std::vector<std::string_view> gates;
};

/// The value of a field of the scheduler's object.
using field_value = std::variant<std::int64_t, std::string>;

struct scheduler {
    /// The member of `spec.scheduler` that asks for it.
    std::string_view name;
    /// What it places pods by: one object for a job, made before all others (BEHAVIOUR.md 2.1). Its
    /// row says how it is read, and whether it tells of its readiness.
    object_kind object;
    /// Values of the fields of the object's row, in their order. `min_member`: pods that must fit
    /// at once, by the sizes in force (BEHAVIOUR.md 8.2).
    std::vector<field_value> (*values)(const gang_plan& gang, std::int64_t min_member);
    /// What the pods of a type carry. The plan has its gang.
    pod_marks (*marks)(const job_plan& plan, std::size_t type);
};

/// All there are. Each has static storage.
std::span<const scheduler* const> all_schedulers();

}  // namespace signalbox::core::gang
