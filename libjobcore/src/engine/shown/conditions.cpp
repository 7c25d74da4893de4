// SPDX-License-Identifier: Apache-2.0
//
// Conditions, always in the same order (BEHAVIOUR.md 4.13).
#include "engine/shown/shown.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace signalbox::core::engine {
namespace {

/// Conditions of others stand last.
bool stands_behind(const condition& c, condition_type type) {
    const auto known = parse<condition_type>(c.type);
    return !known || *known > type;
}

/// The API server has accepted every child of the first stage (BEHAVIOUR.md 2.4).
bool first_stage_accepted(const context& c) {
    if (c.status.attempt == 0) {
        return false;
    }
    for (std::size_t r = 0; r < c.view.types.size(); ++r) {
        const bool first =
            c.in.plan.pod_stages.empty() || std::ranges::find(c.in.plan.pod_stages.front(), r) !=
                                                c.in.plan.pod_stages.front().end();
        const bool all = std::ranges::all_of(c.view.types[r].replicas, [](const replica_view& s) {
            return s.current != nullptr || s.done();
        });
        if (first && !all) {
            return false;
        }
    }
    return true;
}

/// Some replica of the last incident has no successor yet (4.13).
bool successor_missing(const context& c) {
    const auto& last = c.status.restarts.last;
    if (c.status.restarts.settling) {
        return true;
    }
    if (!last || last->attempt != c.status.attempt) {
        return false;
    }
    if (last->scope == restart_scope::job) {
        return std::ranges::any_of(c.view.types, [](const type_view& type) {
            return std::ranges::any_of(type.replicas, [](const replica_view& s) {
                return s.current == nullptr && !s.done();
            });
        });
    }
    return std::ranges::any_of(last->pods, [&](const incident_pod& pod) {
        const pod_identity id = identity_from_name(c.in.plan, pod.name);
        if (id.type == no_type || id.index >= c.view.types[id.type].wanted()) {
            return false;
        }
        const replica_view& s = c.view.types[id.type].replicas[static_cast<std::size_t>(id.index)];
        return s.current == nullptr && !s.done();
    });
}

/// The first pod that cannot start without help, or null.
const pod_record* find_hopeless_pod(const context& c) {
    for (const type_view& type : c.view.types) {
        for (const replica_view& s : type.replicas) {
            if (s.current != nullptr && hopeless_container(*s.current) != nullptr) {
                return s.current;
            }
        }
    }
    return nullptr;
}

/// The conditions of a status, changed one after the other.
class condition_list {
public:
    explicit condition_list(const context& c) : c_(c), list_(c.in.job.status.conditions) {}

    const condition* find(condition_type type) const {
        const auto it = std::ranges::find(list_, to_string(type), &condition::type);
        return it == list_.end() ? nullptr : &*it;
    }

    /// The transition time moves only with the status, and is not before the start, which is
    /// rounded up (4.14).
    void set(condition_type type, bool status, reason why, std::string message) {
        set(type, status, to_string(why), std::move(message));
    }
    void set(condition_type type, bool status, std::string_view why, std::string message) {
        auto it = std::ranges::find(list_, to_string(type), &condition::type);
        if (it == list_.end()) {
            it = std::ranges::find_if(list_, [&](const condition& c) {
                return stands_behind(c, type);
            });
            it = list_.insert(it, condition{std::string(to_string(type)), !status, {}, {}, {}});
        }
        if (it->status != status || !it->last_transition) {
            it->status = status;
            it->last_transition = std::max(
                round_down_to_second(c_.in.now), c_.status.start_time.value_or(instant::min())
            );
        }
        it->reason = why;
        it->message = std::move(message);
    }

    std::vector<condition> take() { return std::move(list_); }

private:
    const context& c_;
    std::vector<condition> list_;
};

void set_initialized(const context& c, condition_list& out) {
    const condition* old = out.find(condition_type::initialized);
    if (old != nullptr && old->status) {
        return;
    }
    const bool accepted = first_stage_accepted(c);
    out.set(
        condition_type::initialized,
        accepted,
        accepted ? reason::replicas_accepted : reason::not_finished,
        ""
    );
}

void set_replica_failure(const context& c, const std::string* failure, condition_list& out) {
    constexpr auto type = condition_type::replica_failure;
    if (failure != nullptr || !c.status.restarts.given_up.empty() || successor_missing(c)) {
        // The failed pod may be gone: then what was said of it stays.
        const condition* old = out.find(type);
        std::string message = failure != nullptr              ? *failure
                              : old != nullptr && old->status ? old->message
                                                              : "a replica failed";
        out.set(type, true, reason::replica_failed, std::move(message));
        return;
    }
    const pod_record* hopeless = find_hopeless_pod(c);
    const bool failing = hopeless != nullptr;
    out.set(
        type,
        failing,
        failing ? reason::replica_cannot_start : reason::no_failure,
        failing ? describe_hopeless(*hopeless) : std::string()
    );
}

/// A replica that failed for good stays in the condition, also where the job succeeded without it.
void set_final_failure(const context& c, const std::string* failure, condition_list& out) {
    const condition* old = out.find(condition_type::replica_failure);
    const bool gave_up = !c.status.restarts.given_up.empty();
    const bool told_before = gave_up && old != nullptr;
    std::string message = failure != nullptr ? *failure : told_before ? old->message : "";
    const bool failed = failure != nullptr || gave_up;
    out.set(
        condition_type::replica_failure,
        failed,
        failed ? reason::replica_failed : reason::no_failure,
        std::move(message)
    );
}

/// What is awaited, and the facts that were told (11.2), which it may be one of.
std::string running_message(const phase_shown& phase) {
    const bool is_told =
        phase.phase == job_phase::running ||
        std::ranges::find(phase.facts, phase.waits_for, &fact::text) != phase.facts.end();
    std::string text = is_told ? "" : phase.waits_for;
    for (const fact& f : phase.facts) {
        text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", to_string(f.reason), f.text);
    }
    return text;
}

}  // namespace

std::vector<condition> show_conditions(
    const context& c,
    const phase_shown& phase,
    const std::string* failure,
    const progress_clock* still
) {
    condition_list out(c);
    set_initialized(c, out);
    const bool running = phase.phase == job_phase::running;
    out.set(
        condition_type::running,
        running,
        running ? reason::replicas_running : phase.reason,
        running_message(phase)
    );
    set_replica_failure(c, failure, out);
    out.set(condition_type::completed, false, reason::not_finished, "");
    const bool paused = phase.phase == job_phase::paused;
    if (paused || was_paused_once(c.in.job.status)) {
        out.set(condition_type::paused, paused, paused ? reason::paused : reason::resuming, "");
    }
    if (still != nullptr) {
        out.set(condition_type::stalled, true, reason::no_progress, still->text);
    } else if (out.find(condition_type::stalled) != nullptr && !c.in.invalid) {
        out.set(condition_type::stalled, false, running ? reason::trains : phase.reason, "");
    }
    return out.take();
}

std::vector<condition> show_end(const context& c, const end_told& end) {
    condition_list out(c);
    const bool success = end.success;
    const auto word = success ? reason::succeeded : reason::failed;
    const std::string_view why = success ? to_string(reason::succeeded) : end.reason;
    const std::string message(end.message);
    set_initialized(c, out);
    out.set(condition_type::running, false, word, message);
    set_final_failure(c, end.failure, out);
    out.set(condition_type::completed, true, word, message);
    out.set(condition_type::failed, !success, why, message);
    out.set(condition_type::succeeded, success, why, message);
    if (was_paused_once(c.in.job.status)) {
        out.set(condition_type::paused, false, word, "");
    }
    if (out.find(condition_type::stalled) != nullptr) {
        out.set(condition_type::stalled, false, word, "");
    }
    return out.take();
}

std::vector<condition> show_end(const context& c, const job_end& end) {
    const bool success = end.phase == job_phase::succeeded;
    const std::string* failure = end.failure ? &*end.failure : nullptr;
    return show_end(c, end_told{success, to_string(end.reason), end.message, failure});
}

}  // namespace signalbox::core::engine
