// SPDX-License-Identifier: Apache-2.0
//
// A pod that is stuck in deletion keeps its name: its replacement gets another one (BEHAVIOUR.md
// 1.3).
#include "engine/rules/rules.hpp"

#include <algorithm>
#include <utility>

namespace signalbox::core::engine {
namespace {

bool is_renamed(const restart_ledger& ledger, std::string_view type, std::int32_t index) {
    return std::ranges::any_of(ledger.renamed, [&](const renamed_index& r) {
        return r.type == type && r.index == index;
    });
}

/// The stuck pod has the very name that its replacement would get.
bool holds_wanted_name(const context& c, const left_over& l) {
    const replica_view* s = c.find_replica(l.type, l.index);
    return l.stuck && s != nullptr && !s->done() && s->current == nullptr &&
           l.pod->name == c.name_of(l.type, l.index);
}

/// A pod labelled `gone` has no place any more, but its name is still taken.
std::vector<replica> held_by_gone_pods(const context& c) {
    std::vector<replica> out;
    for (const pod_record* pod : c.view.gone) {
        const pod_identity id = identity_from_name(c.in.plan, pod->name);
        const replica_view* s = c.find_replica(id.type, id.index);
        if (s != nullptr && !s->done() && s->current == nullptr &&
            pod->name == c.name_of(id.type, id.index)) {
            out.push_back({id.type, id.index});
        }
    }
    return out;
}

}  // namespace

std::optional<record> rename_stuck(const context& c, const health&, const open_questions&) {
    names_changed out;
    const restart_ledger& ledger = c.status.restarts;
    auto room = static_cast<std::ptrdiff_t>(c.in.policy.renamed_in_status) -
                static_cast<std::ptrdiff_t>(ledger.renamed.size());
    std::vector<replica> held = held_by_gone_pods(c);
    for (const left_over& l : c.view.left_overs) {
        if (holds_wanted_name(c, l)) {
            held.push_back({l.type, l.index});
        }
    }
    // By replica: the order decides who gets which name.
    std::ranges::sort(held, {}, [](const replica& r) { return std::pair(r.type, r.index); });
    const auto twice = std::ranges::unique(held);
    held.erase(twice.begin(), twice.end());
    for (const replica& r : held) {
        if (is_renamed(ledger, c.in.plan.types[r.type].name, r.index) || room-- > 0) {
            out.which.push_back(r);
        }
    }
    return out.which.empty() ? std::nullopt : std::optional<record>(std::move(out));
}

}  // namespace signalbox::core::engine
