// SPDX-License-Identifier: Apache-2.0
#include "gang/gang.hpp"

#include "jobcore/strings.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace signalbox::core {

std::string_view gang_request::text(std::string_view field) const {
    const auto found = fields.find(field);
    return found == fields.end() ? std::string_view() : std::string_view(found->second);
}

std::int64_t gang_request::number(std::string_view field) const {
    return read_whole_number<std::int64_t>(text(field)).value_or(0);
}

namespace gang {
namespace {

/// Nothing of a type without a template of its own: it has that of another.
std::optional<template_facts> facts_of(const replica_spec& replica) {
    json::document document;
    json::parse(document, replica.pod_template);
    const json::value* spec = document.HasParseError() ? nullptr : json::find(document, "spec");
    if (spec == nullptr) {
        return std::nullopt;
    }
    return template_facts{
        replica.pointer + "/template",
        std::string(json::string_or_empty(*spec, "priorityClassName")),
        std::string(json::string_or_empty(*spec, "schedulerName"))};
}

std::int64_t at_or(
    std::span<const std::int32_t> numbers, std::size_t type, std::int64_t otherwise
) {
    return type < numbers.size() ? numbers[type] : otherwise;
}

}  // namespace

const scheduler* find_scheduler(std::string_view name) {
    const auto schedulers = all_schedulers();
    const auto named = std::ranges::find(schedulers, name, &scheduler::name);
    return named == schedulers.end() ? nullptr : *named;
}

const scheduler* scheduler_of(object_kind kind) {
    const auto schedulers = all_schedulers();
    const auto found = std::ranges::find_if(schedulers, [&](const scheduler* s) {
        return std::ranges::find(s->objects, kind) != s->objects.end();
    });
    return found == schedulers.end() ? nullptr : *found;
}

const scheduler* scheduler_of(const member_mark& mark) {
    const auto schedulers = all_schedulers();
    const auto found = std::ranges::find_if(schedulers, [&](const scheduler* s) {
        return s->member.at == mark.at && s->member.key == mark.key;
    });
    return found == schedulers.end() ? nullptr : *found;
}

gang_plan plan_members(const job_plan& plan, const job_spec& spec) {
    gang_plan out;
    if (!plan.pod_stages.empty()) {
        out.members = plan.pod_stages.front();
    } else {
        for (std::size_t type = 0; type < plan.types.size(); ++type) {
            out.members.push_back(type);
        }
    }
    std::int64_t created = 0;
    for (const std::size_t type : out.members) {
        created += plan.types[type].wanted;
    }
    // An elastic job may start with fewer than it wants (BEHAVIOUR.md 8.2).
    const std::int64_t minimum =
        spec.elastic ? std::min<std::int64_t>(spec.elastic->min_replicas, created) : created;
    out.min_member = static_cast<std::int32_t>(
        std::min<std::int64_t>(minimum, std::numeric_limits<std::int32_t>::max())
    );
    return out;
}

namespace {

std::vector<template_facts> facts_of(const job_spec& spec) {
    std::vector<template_facts> out;
    for (const replica_spec& replica : spec.replicas) {
        if (auto facts = facts_of(replica)) {
            out.push_back(*std::move(facts));
        }
    }
    return out;
}

gang_plan plan_by(
    const scheduler& by, const gang_request& asked, const job_plan& plan, const job_spec& spec
) {
    gang_plan out = plan_members(plan, spec);
    out.by = &by;
    out.asked = asked;
    return out;
}

std::vector<objection> check(job_plan& plan, std::span<const template_facts> templates) {
    if (!templates.empty()) {
        plan.gang->priority_class = templates.front().priority_class;
    }
    return plan.gang->by->check(plan, templates);
}

bool takes(
    const scheduler& by,
    job_plan plan,
    const job_spec& spec,
    std::span<const template_facts> templates
) {
    plan.gang = plan_by(by, {.name = std::string(by.name)}, plan, spec);
    return check(plan, templates).empty();
}

}  // namespace

std::vector<std::string_view> possible_schedulers(const job_plan& plan, const job_spec& spec) {
    const std::vector<template_facts> templates = facts_of(spec);
    const bool named = std::ranges::any_of(templates, [](const template_facts& t) {
        return !t.scheduler_name.empty();
    });
    std::vector<std::string_view> out;
    for (const scheduler* s : all_schedulers()) {
        if (named || s->quota != nullptr) {
            continue;
        }
        if (s->check == nullptr || takes(*s, plan, spec, templates)) {
            out.push_back(s->name);
        }
    }
    return out;
}

std::vector<objection> add_to(job_plan& plan, const job_spec& spec) {
    const scheduler* named = spec.scheduler ? find_scheduler(spec.scheduler->name) : nullptr;
    if (named == nullptr) {
        return {};
    }
    plan.gang = plan_by(*named, *spec.scheduler, plan, spec);
    if (!named->objects.empty()) {
        planned_object group;
        group.kind = named->objects.front();
        group.name = plan.base_name;
        plan.objects.insert(plan.objects.begin(), std::move(group));
    }
    return named->check == nullptr ? std::vector<objection>() : check(plan, facts_of(spec));
}

gang_state state_of(const job_plan& plan, const render_options& options) {
    gang_state out{plan};
    std::int64_t created = 0;
    std::int64_t over = 0;
    for (const std::size_t type : plan.gang->members) {
        const member_type r{
            type,
            at_or(options.wanted, type, plan.types[type].wanted),
            at_or(options.ended, type, 0)};
        created += r.pods;
        over += r.ended;
        out.types.push_back(r);
    }
    out.min_member = std::min<std::int64_t>(plan.gang->min_member, created);
    out.min_active = std::max<std::int64_t>(out.min_member - over, 1);
    out.priority = options.priority;
    return out;
}

std::vector<field_value> object_values(const job_plan& plan, const render_options& options) {
    return plan.gang->by->values(state_of(plan, options));
}

bool is_current(const job_plan& plan, const render_options& options, const child_record& object) {
    const scheduler& by = *plan.gang->by;
    return by.is_current == nullptr || object.gang == nullptr ||
           by.is_current(state_of(plan, options), *object.gang);
}

std::optional<pod_marks> marks_of(const job_plan& plan, std::size_t type) {
    return plan.gang ? std::optional(plan.gang->by->marks(plan, type)) : std::nullopt;
}

}  // namespace gang

std::span<const object_kind> all_read_kinds() {
    static const std::vector<object_kind> kinds = [] {
        std::vector<object_kind> out;
        for (const gang::scheduler* s : gang::all_schedulers()) {
            if (s->quota != nullptr) {
                out.insert(out.end(), s->quota->reads.begin(), s->quota->reads.end());
            }
        }
        return out;
    }();
    return kinds;
}

std::span<const object_kind> kinds_of_scheduler(std::string_view name) {
    const gang::scheduler* named = gang::find_scheduler(name);
    return named == nullptr ? std::span<const object_kind>() : named->objects;
}

}  // namespace signalbox::core
