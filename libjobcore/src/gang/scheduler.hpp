// SPDX-License-Identifier: Apache-2.0
//
// One scheduler of gangs: all that is particular to it (BEHAVIOUR.md 8). A further one is a file
// that defines such a value, and its line in schedulers.cpp; README.md says how.
#pragma once

#include "gang/quota.hpp"
#include "jobcore/object_kind.hpp"
#include "jobcore/observed.hpp"
#include "jobcore/plan.hpp"
#include "jobcore/spec.hpp"
#include "json/json.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace signalbox::core::gang {

/// JSON that stands in an object as it is.
struct json_text {
    std::string text;
    /// Else it is written, and what stands there is not compared with it.
    bool compared = true;
};

/// The value of a field. Nothing: the field is not ours; it is left out, and what a server or
/// somebody else writes there stays.
using field_value = std::variant<std::monostate, std::int64_t, std::string, json_text>;

/// What a scheduler wants of every pod, launchers of later stages included.
struct pod_marks {
    std::string_view scheduler_name;  ///< empty: the cluster's own
    std::vector<std::pair<std::string_view, std::string>> labels;
    std::vector<std::pair<std::string_view, std::string>> annotations;
    /// An annotation with gang_state::min_active at the time when the pod is made; empty: none.
    std::string_view minimum;
    /// Names of scheduling gates, which the scheduler takes off when the gang may start.
    std::vector<std::string_view> gates;
    /// Members of the pod's `spec`, in place of the template's.
    std::vector<std::pair<std::string_view, field_value>> spec;
};

/// A replica type whose pods are scheduled together, by what is on record.
struct member_type {
    std::size_t type = 0;    ///< number in job_plan::types
    std::int64_t pods = 0;   ///< the size in force
    std::int64_t ended = 0;  ///< of them: completed or given up, and not made again
};

/// Where pods name the gang that they are members of: something that `marks` gives each of them.
/// Its value is the name of the job's objects (job_plan::base_name).
struct member_mark {
    enum class place : std::uint8_t {
        nowhere,     ///< pods do not tell
        label,       ///< `key`
        annotation,  ///< `key`
        group,       ///< `spec.schedulingGroup.podGroupName`
    };
    place at = place::nowhere;
    std::string_view key{};
};

/// What an object of a scheduler is about: the plan by what is on record.
struct gang_state {
    const job_plan& plan;
    std::vector<member_type> types{};  ///< of the first stage, in the order of the specification
    std::int64_t min_member = 0;       ///< pods that must fit at once, by the sizes in force (8.2)
    /// The same without those that have ended and are not made again; at least 1. For schedulers
    /// that do not count what has ended.
    std::int64_t min_active = 0;
    /// The value of the job's priority class, where it was read (quota_scheme).
    std::optional<std::int32_t> priority{};

    const gang_request& asked() const { return plan.gang->asked; }
};

/// What of a template schedulers look at.
struct template_facts {
    std::string pointer;         ///< of the template in the job
    std::string priority_class;  ///< `priorityClassName`; empty: none
    std::string scheduler_name;  ///< empty: the cluster's own
};

/// What a scheduler cannot take of a job: an error of its specification.
struct objection {
    std::string pointer;
    std::string message;
};

/// When pods may be made and started, and how that is known (BEHAVIOUR.md 8.5).
enum class admits : std::uint8_t {
    unsaid,       ///< nothing tells: pods are made, and start when they start
    by_pods,      ///< pods are made; the scheduler holds them until all fit, and they tell
    at_gates,     ///< pods are made and wait at a gate until the object says that they may start
    before_pods,  ///< no pod is made before the object says so
    by_quota,     ///< nor then, before it is on record what was admitted, and as long as that is
};

/// What keeps pods from being placed though nothing says so (BEHAVIOUR.md 8.9).
struct silent_holds {
    bool by_number = false;    ///< fewer pods than the minimum
    bool by_priority = false;  ///< a pod with another priority than the object
    bool by_gate = false;      ///< one pod at a gate holds the others

    constexpr bool any() const { return by_number || by_priority || by_gate; }
};

/// In `spec.scheduler`, and in job_status::scheduler as long as nothing is chosen: one of those
/// that the server serves (BEHAVIOUR.md 8.15).
inline constexpr std::string_view left_open = gang_request::left_open;
/// In job_status::scheduler: none of them; the cluster's default scheduler places the pods.
inline constexpr std::string_view none_chosen = "none";

/// A pure value: data and functions without state. No function is given a plan without a gang.
struct scheduler {
    /// The member of `spec.scheduler` that asks for it.
    std::string_view name;
    /// What it places pods by: one object for a job, made before all others (BEHAVIOUR.md 2.1), in
    /// the first of these versions that the server serves. Rows of one resource. Empty: pods alone
    /// tell all. Their `fields` are those of `values`.
    std::span<const object_kind> objects;
    /// How it tells that pods may start.
    admits tells = admits::unsaid;
    /// What it holds without a word.
    silent_holds holds{};
    /// Its object, once somebody has deleted it, stays as long as pods of it do, and pods that are
    /// made meanwhile are placed: it is not waited for (BEHAVIOUR.md 8.3).
    bool outlives_deletion = false;
    /// Values of the fields of the object's row, in their order; null without objects.
    std::vector<field_value> (*values)(const gang_state& state) = nullptr;
    /// By what a pod is known as a member.
    member_mark member{};
    /// What the pods of a type carry.
    pod_marks (*marks)(const job_plan& plan, std::size_t type) = nullptr;
    /// What an object says that the server has; null: nothing. Must take any JSON object.
    gang_answer (*read)(const json::value& object) = nullptr;
    /// What it cannot take of the job, by the templates that the job has. Null: it takes all.
    std::vector<objection> (*check
    )(const job_plan& plan, std::span<const template_facts> templates) = nullptr;
    /// What an object has in fields that are written and not compared (json_text) is what the state
    /// asks for. Null: it is.
    bool (*is_current)(const gang_state& state, const gang_answer& says) = nullptr;
    /// With `by_quota`; else null.
    const quota_scheme* quota = nullptr;
    /// Chosen for jobs that leave it open, where its object is served; in the order of
    /// all_schedulers(). Not where that is not enough to have it place pods.
    bool by_choice = false;
};

/// All there are. Each has static storage.
std::span<const scheduler* const> all_schedulers();

/// The one that `spec.scheduler` names so; null: none.
const scheduler* find_scheduler(std::string_view name);
/// The one whose objects are of that kind; null: none.
const scheduler* scheduler_of(object_kind kind);
/// The one whose members have that mark; null: none.
const scheduler* scheduler_of(const member_mark& mark);

}  // namespace signalbox::core::gang
