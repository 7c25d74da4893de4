// SPDX-License-Identifier: Apache-2.0
//
// Kinds that restart nothing (BEHAVIOUR.md 5.11): the launcher's exit decides, and once it has
// started it cannot do without any of its workers.
#include "engine/restart.hpp"

#include <algorithm>

namespace signalbox::core::engine {
namespace {

/// Nobody knows how far a launcher came that is gone.
bool launcher_has_started(const pass& p) {
    const role_view& role = p.view.roles[p.plan.master_role];
    if (role.slots.empty()) {
        return false;
    }
    const slot& s = role.slots.front();
    if (s.current == nullptr) {
        return s.seen;
    }
    const container_record* c = training_container(*s.current, role.plan->training_container);
    return c != nullptr && has_started(*c);
}

}  // namespace

verdict judge_without_restart(const pass& p, std::span<const loss> losses) {
    verdict v;
    v.scope = restart_scope::replica;
    const auto launcher = std::ranges::find_if(losses, [&](const loss& l) {
        return p.is_master(l.role, l.index) && !l.disrupted;
    });
    const auto failed = std::ranges::find(losses, false, &loss::disrupted);
    if (launcher == losses.end() && launcher_has_started(p)) {
        v.reason = reason::replica_lost;
        v.decisive = &losses.front();
    } else if (failed != losses.end()) {
        v.decisive = launcher != losses.end() ? &*launcher : &*failed;
        v.reason =
            v.decisive->cause == cause::pod_rejected ? reason::pod_rejected : reason::error_in_pod;
    } else {
        v.restartable = true;
    }
    return v;
}

}  // namespace signalbox::core::engine
