// SPDX-License-Identifier: Apache-2.0
//
// Conditions, always in the same order (BEHAVIOUR.md 4.13).
#include "engine/ledger.hpp"
#include "engine/pass.hpp"
#include "engine/pod_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace signalbox::core::engine {
namespace {

constexpr std::array<std::string_view, 6> condition_order{
    condition_type::initialized,
    condition_type::running,
    condition_type::replica_failure,
    condition_type::completed,
    condition_type::failed,
    condition_type::paused,
};

std::ptrdiff_t position(std::string_view type) {
    return std::ranges::find(condition_order, type) - condition_order.begin();
}

/// The API server has accepted every child of the first stage (BEHAVIOUR.md 2.4).
bool first_stage_accepted(const pass& p) {
    if (p.next.attempt == 0) {
        return false;
    }
    for (std::size_t r = 0; r < p.view.roles.size(); ++r) {
        const bool first =
            p.plan.pod_stages.empty() ||
            std::ranges::find(p.plan.pod_stages.front(), r) != p.plan.pod_stages.front().end();
        const bool all = std::ranges::all_of(p.view.roles[r].slots, [](const slot& s) {
            return s.current != nullptr || s.settled();
        });
        if (first && !all) {
            return false;
        }
    }
    return true;
}

void set_initialized(pass& p) {
    const condition* old = find_condition(p.next, condition_type::initialized);
    if (old != nullptr && old->status) {
        return;
    }
    const bool accepted = first_stage_accepted(p);
    set_condition(
        p,
        condition_type::initialized,
        accepted,
        accepted ? reason::replicas_accepted : reason::not_finished,
        ""
    );
}

/// Some replica of the last incident has no successor yet (4.13).
bool successor_missing(const pass& p) {
    const auto& last = p.next.restarts.last;
    if (!last || last->attempt != p.next.attempt) {
        return false;
    }
    if (last->pending) {
        return true;
    }
    if (last->scope == restart_scope::job) {
        return std::ranges::any_of(p.view.roles, [](const role_view& role) {
            return std::ranges::any_of(role.slots, [](const slot& s) {
                return s.current == nullptr && !s.settled();
            });
        });
    }
    return std::ranges::any_of(last->pods, [&](const incident_pod& pod) {
        const pod_identity id = identity_from_name(p.plan, pod.name);
        if (id.role == no_role || id.index >= p.view.roles[id.role].wanted()) {
            return false;
        }
        const slot& s = p.view.roles[id.role].slots[static_cast<std::size_t>(id.index)];
        return s.current == nullptr && !s.settled();
    });
}

std::string find_hopeless_wait(pass& p) {
    std::string message;
    for_each_slot(p, [&](std::size_t, std::int32_t, slot& s) {
        if (message.empty() && s.current != nullptr) {
            const std::string why = cannot_start_reason(*s.current);
            if (!why.empty()) {
                message = fmt::format("pod {} cannot start: {}", s.current->name, why);
            }
        }
    });
    return message;
}

void set_replica_failure(pass& p) {
    const condition* old = find_condition(p.next, condition_type::replica_failure);
    const bool failing =
        !p.failure_message.empty() || !p.next.restarts.given_up.empty() || successor_missing(p);
    if (failing) {
        // The failed pod may be gone: then what was said of it stays.
        std::string message = !p.failure_message.empty()      ? p.failure_message
                              : old != nullptr && old->status ? old->message
                                                              : "a replica failed";
        set_condition(
            p, condition_type::replica_failure, true, reason::replica_failed, std::move(message)
        );
        return;
    }
    std::string hopeless = find_hopeless_wait(p);
    if (!hopeless.empty()) {
        set_condition(
            p,
            condition_type::replica_failure,
            true,
            reason::replica_cannot_start,
            std::move(hopeless)
        );
        return;
    }
    set_condition(p, condition_type::replica_failure, false, reason::no_failure, "");
}

/// What is awaited, and the facts that were told (11.2).
std::string running_message(const pass& p, bool running) {
    std::string text;
    for (const pass::fact& f : p.facts) {
        text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", f.why, f.text);
    }
    return text.empty() && !running ? p.waiting_message : text;
}

}  // namespace

void set_condition(
    pass& p, std::string_view type, bool status, std::string_view why, std::string message
) {
    auto& list = p.next.conditions;
    auto it = std::ranges::find(list, type, &condition::type);
    if (it == list.end()) {
        it = std::ranges::find_if(list, [&](const condition& c) {
            return position(c.type) > position(type);
        });
        it = list.insert(it, condition{std::string(type), !status, {}, {}, {}});
    }
    if (it->status != status || !it->last_transition) {
        it->status = status;
        it->last_transition = round_down_to_second(p.now);
    }
    it->reason = why;
    it->message = std::move(message);
}

void set_conditions(pass& p) {
    set_initialized(p);
    const bool running = p.next.phase == job_phase::running;
    set_condition(
        p,
        condition_type::running,
        running,
        running ? reason::replicas_running : std::string_view(p.next.reason),
        running_message(p, running)
    );
    set_replica_failure(p);
    set_condition(p, condition_type::completed, false, reason::not_finished, "");
    const bool paused = p.next.phase == job_phase::paused;
    if (paused || is_resumed(p.next)) {
        set_condition(
            p, condition_type::paused, paused, paused ? reason::paused : reason::resuming, ""
        );
    }
}

}  // namespace signalbox::core::engine
