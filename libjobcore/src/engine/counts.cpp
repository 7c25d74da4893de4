// SPDX-License-Identifier: Apache-2.0
//
// What status shows of the replicas: tasks, aggregate, ready, replicas (behaviour.md 4.15, api.md
// 5).
#include "engine/ledger.hpp"
#include "engine/pass.hpp"
#include "engine/pod_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace signalbox::core::engine {
namespace {

using counter = std::int32_t aggregate_counts::*;

/// Under what a replica without a pod counts.
counter missing_counter(const pass& p, const slot& s) {
    if (s.completed && !is_final(p.next.phase)) {
        return &aggregate_counts::succeeded;
    }
    const bool over =
        is_final(p.next.phase) || (p.next.phase == job_phase::paused && p.next.attempt > 0);
    return over ? &aggregate_counts::deleted : &aggregate_counts::creating;
}

counter pod_counter(const pod_record& pod, std::string_view container, instant now) {
    if (const auto end = end_of(pod, container, now)) {
        return end->success() ? &aggregate_counts::succeeded : &aggregate_counts::failed;
    }
    if (pod.deletion) {
        return &aggregate_counts::deleted;
    }
    switch (pod.phase) {
        case pod_phase::pending:
            return pod.scheduled ? &aggregate_counts::pending : &aggregate_counts::creating;
        case pod_phase::running:
            return &aggregate_counts::running;
        case pod_phase::succeeded:
            return &aggregate_counts::succeeded;
        case pod_phase::failed:
            return &aggregate_counts::failed;
        case pod_phase::unknown:
            break;
    }
    return &aggregate_counts::unknown;
}

std::string missing_phase(counter c) {
    if (c == &aggregate_counts::succeeded) {
        return "Succeeded";
    }
    return c == &aggregate_counts::deleted ? "Deleted" : "Creating";
}

replica_status describe(const pass& p, std::size_t role, std::int32_t index, const slot& s) {
    replica_status out;
    if (s.newest == nullptr) {
        out.name = p.name_of(role, index);
        out.phase = missing_phase(missing_counter(p, s));
        return out;
    }
    out.name = s.newest->name;
    out.uid = s.newest->uid;
    out.phase = to_string(s.newest->phase);
    for (const container_record& c : s.newest->containers) {
        if (c.init) {
            continue;
        }
        container_status status{c.name, std::string(to_string(c.state)), {}};
        if (c.state == container_state::terminated) {
            status.exit_code = c.exit_code;
        }
        out.containers.push_back(std::move(status));
    }
    return out;
}

/// The deciding pod's type first, the others in spec order (api.md 5).
std::vector<std::size_t> task_order(const pass& p) {
    std::vector<std::size_t> order(p.view.roles.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::rotate(
        order.begin(),
        order.begin() + static_cast<std::ptrdiff_t>(p.plan.master_role),
        order.begin() + static_cast<std::ptrdiff_t>(p.plan.master_role) + 1
    );
    return order;
}

void set_tasks(pass& p) {
    // Index 0 of each type always has its place; what is left goes to the types in order.
    const auto types = static_cast<std::int32_t>(p.view.roles.size());
    std::int32_t spare = std::max(p.rules.replicas_in_status - types, 0);
    std::vector<task_status> tasks;
    tasks.reserve(p.view.roles.size());
    for (const std::size_t r : task_order(p)) {
        const role_view& role = p.view.roles[r];
        const task_status* old = find_task(p.next, role.plan->type);
        task_status task{
            role.plan->type, old == nullptr ? 0 : old->restart_count, role.wanted(), {}};
        const std::int32_t more = std::clamp(role.wanted() - 1, 0, spare);
        spare -= more;
        const std::int32_t shown = std::min(role.wanted(), 1 + more);
        task.replicas.reserve(static_cast<std::size_t>(shown));
        for (std::int32_t i = 0; i < shown; ++i) {
            task.replicas.push_back(describe(p, r, i, role.slots[static_cast<std::size_t>(i)]));
        }
        tasks.push_back(std::move(task));
    }
    p.next.tasks = std::move(tasks);
}

bool counts_as_replica(const pass& p, const slot& s, std::string_view container) {
    return s.current != nullptr && !s.current->deletion &&
           !end_of(*s.current, container, p.now).has_value();
}

}  // namespace

void set_counts(pass& p) {
    aggregate_counts sums;
    std::int32_t up = 0;
    std::int32_t wanted = 0;
    p.next.replicas = 0;
    for (const role_view& role : p.view.roles) {
        const std::string_view container = role.plan->training_container;
        wanted += role.wanted();
        for (const slot& s : role.slots) {
            const counter c = s.newest == nullptr ? missing_counter(p, s)
                                                  : pod_counter(*s.newest, container, p.now);
            ++(sums.*c);
            p.next.replicas += counts_as_replica(p, s, container) ? 1 : 0;
            const bool runs = s.current != nullptr && is_up(*s.current, container);
            up += runs || (s.completed && !is_final(p.next.phase)) ? 1 : 0;
        }
    }
    p.next.aggregate = sums;
    p.next.ready = fmt::format("{}/{}", up, wanted);
    p.next.selector = fmt::format(
        "tensorstack.dev/owner-name={},batch.tensorstack.dev/job-uid={}",
        p.plan.job_name,
        p.plan.job_uid
    );
    set_tasks(p);
}

}  // namespace signalbox::core::engine
