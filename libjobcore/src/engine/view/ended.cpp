// SPDX-License-Identifier: Apache-2.0
#include "engine/view/ended.hpp"

#include "engine/facts/pod_facts.hpp"
#include "engine/facts/reasons.hpp"

#include <algorithm>

namespace signalbox::core::engine {
namespace {

/// Empty for a type that the plan does not know.
std::string_view training_container_of(const job_plan& plan, const pod_record& pod) {
    const auto role = std::ranges::find(plan.roles, pod.type, &role_plan::type);
    return role == plan.roles.end() ? std::string_view()
                                    : std::string_view(role->training_container);
}

}  // namespace

bool has_ended(const inputs& in, const pod_record& pod) {
    return end_of(pod, training_container_of(in.plan, pod), in.now).has_value();
}

bool has_started(const inputs& in, const pod_record& pod) {
    const container_record* c = training_container(pod, training_container_of(in.plan, pod));
    return c != nullptr && has_started(*c);
}

// Pods that run sshd end by nothing but a deletion.
bool leaves_workers_running(const context& c) {
    const bool kept = c.in.plan.scope == scope_rule::no_restart
                          ? !c.in.plan.run.clean_up_workers
                          : c.in.plan.run.clean_up == clean_up_policy::none;
    bool running = false;
    for_each_slot(c.view, [&](std::size_t role, std::int32_t index, const slot& s) {
        const bool sshd = c.in.plan.roles[role].runs_sshd(index);
        running = running || (sshd && s.current != nullptr && !s.current->deletion &&
                              !has_ended(c.in, *s.current));
    });
    return kept && running && c.status.reason != reason::deadline_exceeded;
}

}  // namespace signalbox::core::engine
