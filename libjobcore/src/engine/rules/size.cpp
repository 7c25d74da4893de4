// SPDX-License-Identifier: Apache-2.0
//
// Elastic jobs: the size in force follows the specification (BEHAVIOUR.md 7).
#include "engine/facts/ledger.hpp"
#include "engine/rules/rounds.hpp"
#include "engine/rules/rules.hpp"

#include <algorithm>
#include <numeric>

namespace signalbox::core::engine {
namespace {

/// The replicas that a smaller size leaves out: the highest of each type.
std::vector<replica> leaving(const context& c) {
    std::vector<replica> out;
    const auto& roles = c.in.plan.roles;
    for (std::size_t r = 0; r < roles.size(); ++r) {
        for (std::int32_t i = roles[r].wanted; i < wanted_in_force(c.status, roles[r]); ++i) {
            out.push_back({r, i});
        }
    }
    return out;
}

bool needs_new_attempt(const context& c, const std::vector<replica>& gone) {
    round_room room(c);
    return c.in.plan.elastic->resize == resize_rule::new_attempt ||
           !std::ranges::all_of(gone, [&](const replica& r) { return room.take(r.role, r.index); });
}

}  // namespace

std::optional<record> follow_size(const context& c, const health&, const open_questions&) {
    const job_plan& plan = c.in.plan;
    if (!plan.elastic) {
        return std::nullopt;
    }
    const auto before = wanted_in_force(c.status, plan);
    if (std::ranges::equal(before, plan.roles, {}, {}, &role_plan::wanted)) {
        return std::nullopt;
    }
    size_change out;
    out.leaving = leaving(c);
    out.new_attempt = needs_new_attempt(c, out.leaving);
    out.before = std::accumulate(before.begin(), before.end(), 0);
    for (const role_plan& role : plan.roles) {
        out.after += role.wanted;
    }
    return out;
}

}  // namespace signalbox::core::engine
