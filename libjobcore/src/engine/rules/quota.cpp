// SPDX-License-Identifier: Apache-2.0
//
// Quota that is given and taken away (BEHAVIOUR.md 8.12, 8.13).
#include "engine/view/quota.hpp"

#include "engine/rules/rules.hpp"

#include <utility>

namespace signalbox::core::engine {
namespace {

bool has_pods(const context& c) {
    bool any = false;
    for_each_replica(c.view, [&](std::size_t, std::int32_t, const replica_view& s) {
        any = any || s.current != nullptr;
    });
    return any;
}

/// The attempt has pods, or had some: also those that are being replaced now.
bool had_pods(const context& c) {
    const restart_ledger& ledger = c.status.restarts;
    return has_pods(c) || !ledger.seen.empty() || !ledger.replaced.empty();
}

std::optional<record> take(const context& c, const quota_view& q) {
    if (!unread_flavors(c.in, q).empty()) {
        return std::nullopt;
    }
    return quota_taken{q.scheme->admit(*q.says, q.child->uid, c.in.seen.readings)};
}

}  // namespace

std::optional<record> follow_quota(const context& c, const health&, const open_questions&) {
    const auto q = find_quota(c.in);
    if (!q) {
        return std::nullopt;
    }
    if (c.status.admission) {
        auto why = why_lost(c, *q);
        if (!why) {
            return std::nullopt;
        }
        return quota_lost{*std::move(why), had_pods(c)};
    }
    if (can_take(c, *q)) {
        return take(c, *q);
    }
    // No status says so: somebody took the admission out of it.
    return q->served && has_pods(c)
               ? std::optional<record>(quota_lost{"its pods run without quota", true})
               : std::nullopt;
}

}  // namespace signalbox::core::engine
