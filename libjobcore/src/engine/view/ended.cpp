// SPDX-License-Identifier: Apache-2.0
#include "engine/view/ended.hpp"

#include "engine/facts/pod_facts.hpp"
#include "engine/facts/reasons.hpp"

namespace signalbox::core::engine {

bool has_ended(const inputs& in, const pod_record& pod) {
    std::string_view container;
    for (const role_plan& role : in.plan.roles) {
        if (role.type == pod.type) {
            container = role.training_container;
        }
    }
    return end_of(pod, container, in.now).has_value();
}

// Pods that run sshd end by nothing but a deletion.
bool leaves_workers_running(const context& c) {
    const bool kept = c.in.plan.scope == scope_rule::no_restart
                          ? !c.in.plan.run.clean_up_workers
                          : c.in.plan.run.clean_up == clean_up_policy::none;
    bool running = false;
    for_each_slot(c.view, [&](std::size_t role, std::int32_t index, const slot& s) {
        const bool sshd = index >= c.in.plan.roles[role].sshd_from_index;
        running = running || (sshd && s.current != nullptr && !s.current->deletion &&
                              !has_ended(c.in, *s.current));
    });
    return kept && running && c.status.reason != reason::deadline_exceeded;
}

}  // namespace signalbox::core::engine
