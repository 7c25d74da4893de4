// SPDX-License-Identifier: Apache-2.0
//
// Elastic jobs: the size in force follows the specification (BEHAVIOUR.md 7).
#include "engine/elastic.hpp"

#include "engine/ledger.hpp"
#include "engine/objects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace signalbox::core::engine {
namespace {

using indexes = std::vector<std::pair<std::string_view, std::int32_t>>;

/// The replicas that a smaller size leaves out: the highest of each type.
indexes leaving(const pass& p) {
    indexes out;
    for (const role_plan& role : p.plan.roles) {
        for (std::int32_t i = role.wanted; i < wanted_in_force(p.next, role); ++i) {
            out.emplace_back(role.type, i);
        }
    }
    return out;
}

bool must_rebuild(const pass& p, const indexes& gone) {
    const auto limit = static_cast<std::size_t>(p.rules.replaced_in_status);
    return p.plan.elastic->resize == resize_rule::new_attempt || gone.size() > limit ||
           replaced_after(p.next, gone) > limit;
}

void record_sizes(pass& p, const indexes& gone) {
    // What leaves is old by record: a later size waits until it is gone (7.2).
    for (const auto& [type, index] : gone) {
        raise_round(p.next, type, index);
    }
    for (const role_plan& role : p.plan.roles) {
        const auto task = std::ranges::find(p.next.tasks, role.type, &task_status::type);
        if (task != p.next.tasks.end()) {
            task->wanted = role.wanted;
        }
    }
}

std::int32_t sum(const std::vector<std::int32_t>& sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), 0);
}

}  // namespace

bool resize(pass& p) {
    if (!p.plan.elastic) {
        return false;
    }
    const auto before = wanted_in_force(p.next, p.plan);
    const bool same = std::ranges::equal(before, p.plan.roles, {}, {}, &role_plan::wanted);
    if (same) {
        return false;
    }
    const indexes gone = leaving(p);
    if (must_rebuild(p, gone)) {
        raise_attempt(p.next, p.plan);
    } else {
        record_sizes(p, gone);
    }
    p.normal(
        event_reason::scaled,
        fmt::format(
            "Scaling from {} to {} replicas", sum(before), sum(wanted_in_force(p.next, p.plan))
        )
    );
    return true;
}

void write_default_size(pass& p) {
    if (!p.plan.elastic || !p.plan.elastic->default_expected) {
        return;
    }
    action a;
    a.what = verb::patch;
    a.kind = object_kind::job;
    a.name = p.plan.job_name;
    a.uid = p.plan.job_uid;
    a.body = fmt::format(
        R"({{"metadata":{{"uid":"{}","resourceVersion":"{}"}},"spec":{{"elastic":{{"expectedReplicas":{}}}}}}})",
        p.plan.job_uid,
        p.job.meta.resource_version,
        *p.plan.elastic->default_expected
    );
    a.why = "the size is written down, so that it can be scaled";
    a.rule = "behaviour 7.1";
    if (const refusal* r = find_refusal(p, a.kind, a.name)) {
        hold(p, a, *r);
    }
    // Last: a refusal holds nothing of the job.
    p.add_stage({std::move(a)});
}

std::int32_t replicas_up(const pass& p) {
    std::int32_t up = 0;
    for (const role_view& role : p.view.roles) {
        up += static_cast<std::int32_t>(std::ranges::count_if(role.slots, [&](const slot& s) {
            return s.completed ||
                   (s.current != nullptr && is_up(*s.current, role.plan->training_container));
        }));
    }
    return up;
}

std::int32_t replicas_remaining(const pass& p, std::span<const loss> failed) {
    std::int32_t remain = sum(wanted_in_force(p.next, p.plan));
    for (const typed_indexes& set : p.next.restarts.given_up) {
        remain -= static_cast<std::int32_t>(set.indexes.size());
    }
    return remain - static_cast<std::int32_t>(failed.size());
}

}  // namespace signalbox::core::engine
