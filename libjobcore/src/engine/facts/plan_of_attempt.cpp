// SPDX-License-Identifier: Apache-2.0
#include "engine/facts/plan_of_attempt.hpp"

#include <algorithm>
#include <string_view>

namespace signalbox::core::engine {
namespace {

std::size_t position_of(const job_plan& plan, std::string_view type) {
    const auto at = std::ranges::find(plan.types, type, &type_plan::name);
    return static_cast<std::size_t>(at - plan.types.begin());
}

/// The types with replicas of the attempt are all in the specification, and stand in the order in
/// which the attempt has them: ranks go by it.
bool have_same_order(const job_plan& plan, const job_status& status) {
    std::size_t next = 0;
    return std::ranges::all_of(status.tasks, [&](const task_status& t) {
        const std::size_t at = t.wanted > 0 ? position_of(plan, t.type) : next;
        const bool follows = at >= next && (t.wanted == 0 || at < plan.types.size());
        next = at;
        return follows;
    });
}

}  // namespace

std::optional<job_plan> plan_of_attempt(const job_plan& plan, const job_status& status) {
    // The first task is the deciding pod's type (api 5.2).
    const bool recorded =
        status.attempt > 0 && !status.tasks.empty() && status.tasks.front().wanted > 0;
    if (!recorded || plan.scope == scope_rule::no_restart) {
        return std::nullopt;
    }
    const auto is_gone = [&](const task_status& t) {
        return t.wanted > 0 && position_of(plan, t.type) == plan.types.size();
    };
    const std::string& deciding = status.tasks.front().type;
    if (plan.types[plan.deciding_type].name == deciding && have_same_order(plan, status)) {
        return std::nullopt;
    }
    job_plan out = plan;
    for (const task_status& task : status.tasks) {
        if (is_gone(task)) {
            type_plan type;
            type.name = task.type;
            out.types.push_back(std::move(type));
        }
    }
    out.deciding_type = position_of(out, deciding);
    return out;
}

bool starts_otherwise(const inputs& in) {
    const auto is_of_attempts = [](const planned_object& o) { return o.name_has_attempt; };
    if (in.job.status.attempt == 0 || std::ranges::any_of(in.plan.objects, is_of_attempts)) {
        return false;
    }
    return std::ranges::any_of(in.seen.children, [&](const child_record* child) {
        return child->kind == object_kind::config_map && in.owns(*child) &&
               child->attempt == in.job.status.attempt;
    });
}

}  // namespace signalbox::core::engine
