// SPDX-License-Identifier: Apache-2.0
//
// The state of one decision while it is made: inputs, the status as it will be, the output.
#pragma once

#include "engine/reasons.hpp"
#include "engine/view.hpp"
#include "jobcore/decide.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::core::engine {

struct pass {
    const job_object& job;
    const job_spec& spec;
    const job_plan& plan;
    const observed& seen;
    const policy& rules;
    const instant now;
    /// The specification has errors: nothing is created, patched or counted (BEHAVIOUR.md 4.2).
    const bool frozen;

    pod_view view{};
    job_status next{};
    decision out{};

    /// Why the phase is what it is; rules that wait set it, the first one wins.
    std::string_view waiting_reason{};
    std::string waiting_message{};
    /// A replica failure seen or recorded in this pass (condition ReplicaFailure).
    std::string failure_message{};
    /// A later stage of pods waits for the one before; said if nothing more telling is.
    bool workers_awaited = false;
    /// Facts that are told by one event when they begin and shown as long as they last (11.2): the
    /// record of having told one is its place in the message of the condition Running.
    struct fact {
        std::string_view why;
        std::string text;
    };
    std::vector<fact> facts{};
    /// Nothing may be created before (2.5).
    std::optional<instant> creations_held{};
    /// Containers of this attempt have started with the keys of the Secret: it is neither made nor
    /// replaced for them (2.6).
    bool keys_in_use = false;

    /// Decide again at `t`. With `why`, the time is anchored in a recorded fact and shows as
    /// nextTransition (BEHAVIOUR.md api 5.5).
    void await(instant t, std::string_view why = {}) {
        if (!out.wake_up || t < *out.wake_up) {
            out.wake_up = t;
        }
        if (!why.empty() && (!next.next_transition || t < next.next_transition->time)) {
            next.next_transition = transition{round_up_to_second(t), std::string(why)};
        }
    }

    void wait_for(std::string_view why, std::string message) {
        if (waiting_reason.empty()) {
            waiting_reason = why;
            waiting_message = std::move(message);
        }
    }

    void normal(std::string_view event, std::string message) {
        out.events.push_back({false, std::string(event), std::move(message)});
    }
    void warning(std::string_view event, std::string message) {
        out.events.push_back({true, std::string(event), std::move(message)});
    }

    bool is_told(std::string_view why) const {
        const condition* running = find_condition(job.status, condition_type::running);
        return job.status.reason == why ||
               (running != nullptr && running->message.find(why) != std::string::npos);
    }

    /// Puts an action off until `t`, if that is still to come.
    void put_off(action& a, instant t) {
        if (t > now) {
            a.not_before = std::max(a.not_before.value_or(t), t);
            await(t);
        }
    }

    void add_stage(stage actions) {
        if (!actions.empty()) {
            out.stages.push_back(std::move(actions));
        }
    }

    slot& master_slot() { return view.roles[plan.master_role].slots.front(); }
    bool has_master() const { return !view.roles[plan.master_role].slots.empty(); }
    bool is_master(std::size_t role, std::int32_t index) const {
        return role == plan.master_role && index == 0;
    }
    std::string name_of(std::size_t role, std::int32_t index) const {
        const slot& s = view.roles[role].slots[static_cast<std::size_t>(index)];
        return pod_name(plan, {role, index, next.attempt, s.round, s.rename});
    }
};

/// Calls `visit(role number, index, slot)` for every wanted replica, spec order.
template <class Visit>
void for_each_slot(pass& p, Visit visit) {
    for (std::size_t r = 0; r < p.view.roles.size(); ++r) {
        auto& slots = p.view.roles[r].slots;
        for (std::size_t i = 0; i < slots.size(); ++i) {
            visit(r, static_cast<std::int32_t>(i), slots[i]);
        }
    }
}

/// The job was paused once: its attempts run with the resume specifications (BEHAVIOUR.md 3.11).
/// The record of it is the condition Paused, which stays once it was set (4.13).
bool is_resumed(const job_status& status);

/// The job's bound for stuck pods: annotation, else policy (BEHAVIOUR.md 1.3, api 1.11).
milliseconds stuck_after_of(const pass& p);

/// An action on a pod that is there.
action remove_pod(const pod_record& pod, std::string why, std::string_view rule);

// The policies, one file each. Each reads the pass and adds to its status, stages and events.

/// Ends the job (BEHAVIOUR.md 4.1): phase, conditions, times, event. Deletes follow in later
/// passes.
void finish(pass& p, job_phase phase, std::string_view why, std::string message);
/// Clean-up and TTL of a finished job (5.13, 5.14).
void clean_up(pass& p);

/// Enters Paused, or deletes what is left while Paused (6.1).
void pause(pass& p);
/// Leaves Paused (6.4).
void resume(pass& p);

/// The deadline has passed (5.12); else its time is awaited.
bool deadline_passed(pass& p);

/// Deletes left-over pods and renames around stuck ones (1.3, 5.7). True if it recorded a rename:
/// nothing else may act in this pass.
bool replace_left_overs(pass& p);
/// Looks for the ssh Secret (2.6). True if its loss was recorded as an incident.
bool check_secret(pass& p);
/// Makes what is missing of the wanted objects and pods (2.1-2.8).
void create_missing(pass& p);
/// Makes and mends the TensorBoard that the job asks for (9.1).
void keep_tensorboard(pass& p);
/// Its state into status (9.2).
void mirror_tensorboard(pass& p);
/// The child belongs to the TensorBoard, which outlives the pods.
bool is_of_tensorboard(const job_plan& plan, const child_record& child);

/// Phase by rules 4.7-4.12; final, paused and failed phases are set by their own policies.
void set_phase(pass& p);
/// `Initialized` ... `Paused` for a job that has not ended (4.13).
void set_conditions(pass& p);
/// tasks, aggregate, ready, replicas, selector (BEHAVIOUR.md 4.15, api 5.3). True if the tasks are
/// those of the status in hand: they are not copied then.
bool set_counts(pass& p);

/// Sets a condition; the transition time moves only with the status (4.14).
void set_condition(
    pass& p, std::string_view type, bool status, std::string_view why, std::string message
);

/// An event's message: at most 1,023 bytes, cut at a character (11.2).
std::string cut_message(std::string message, std::size_t limit = 1023);

}  // namespace signalbox::core::engine
