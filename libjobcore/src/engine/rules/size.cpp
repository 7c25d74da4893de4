// SPDX-License-Identifier: Apache-2.0
//
// What an attempt has follows the specification: the size of an elastic job (BEHAVIOUR.md 7), and
// the types (10.4).
#include "engine/facts/ledger.hpp"
#include "engine/facts/plan_of_attempt.hpp"
#include "engine/rules/rounds.hpp"
#include "engine/rules/rules.hpp"

#include <algorithm>
#include <numeric>

namespace signalbox::core::engine {
namespace {

/// The replicas that a smaller size leaves out: the highest of each type.
std::vector<replica> leaving(const context& c) {
    std::vector<replica> out;
    const auto& types = c.in.plan.types;
    for (std::size_t r = 0; r < types.size(); ++r) {
        for (std::int32_t i = types[r].wanted; i < wanted_in_force(c.status, types[r]); ++i) {
            out.push_back({r, i});
        }
    }
    return out;
}

/// Replicas of the new size that were not given up.
std::int32_t remaining(const context& c) {
    std::int32_t n = 0;
    for (std::size_t r = 0; r < c.in.plan.types.size(); ++r) {
        for (std::int32_t i = 0; i < c.in.plan.types[r].wanted; ++i) {
            const replica_view* s = c.find_replica(r, i);
            n += s != nullptr && s->given_up ? 0 : 1;
        }
    }
    return n;
}

/// A type of the new size that the attempt did not begin with (10.4).
bool has_new_type(const context& c) {
    return std::ranges::any_of(c.in.plan.types, [&](const type_plan& type) {
        return type.wanted > 0 && find_task(c.status, type.name) == nullptr;
    });
}

/// In place no pod would come in for those that were given up (7.2), and the types of the attempt
/// stay (10.4).
bool needs_new_attempt(const context& c, const std::vector<replica>& gone) {
    return c.in.plan.elastic->resize == resize_rule::new_attempt || c.in.outdated ||
           has_new_type(c) || remaining(c) < c.in.plan.elastic->min_replicas ||
           !has_room_for(c, gone);
}

}  // namespace

std::optional<record> follow_types(const context& c, const health&, const open_questions&) {
    const bool lacks_pod = std::ranges::any_of(c.view.types, [](const type_view& type) {
        return std::ranges::any_of(type.replicas, [](const replica_view& s) {
            return s.current == nullptr && !s.done();
        });
    });
    if (!c.in.outdated || !lacks_pod) {
        return std::nullopt;
    }
    return types_change{plan_of_attempt(c.in.next_plan(), c.in.job.status).has_value()};
}

std::optional<record> follow_size(const context& c, const health&, const open_questions&) {
    const job_plan& plan = c.in.plan;
    if (!plan.elastic) {
        return std::nullopt;
    }
    const auto before = wanted_in_force(c.status, plan);
    if (std::ranges::equal(before, plan.types, {}, {}, &type_plan::wanted)) {
        return std::nullopt;
    }
    size_change out;
    out.leaving = leaving(c);
    out.new_attempt = needs_new_attempt(c, out.leaving);
    out.before = std::accumulate(before.begin(), before.end(), 0);
    for (const type_plan& type : plan.types) {
        out.after += type.wanted;
    }
    return out;
}

}  // namespace signalbox::core::engine
