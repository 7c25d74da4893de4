// SPDX-License-Identifier: Apache-2.0
//
// The parts of plan_work(), each in a file of its own. Each adds to `out` and reads nothing of it.
#pragma once

#include "engine/work/work.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core::engine {

// actions.cpp

action remove_pod(const pod_record& pod, std::string why, std::string_view rule);
action remove_child(const child_record& child, std::string why, std::string_view rule);
/// The pods that are not the ones of their replicas (1.4, 5.7), sorted by address.
std::vector<const pod_record*> surplus_pods(const context& c);
/// One live read of an object that should be there.
action confirm(object_kind kind, std::string name, std::string why);
/// Holds an action until `t`, if that is still to come. The action is returned all the same
/// (BEHAVIOUR.md 12.5).
void hold(action& a, instant t, instant now);

// objects.cpp

/// What holds the creation of everything: the namespace is being deleted (BEHAVIOUR.md 2.5).
std::optional<instant> creations_held(const inputs& in);

/// What one planned object needs.
struct object_need {
    std::optional<action> act;         ///< nothing: it is there as wanted, or cannot be helped now
    const refusal* refused = nullptr;  ///< the action was refused before and is held
    bool being_deleted = false;        ///< its name becomes free later
};
/// `number` as in find_object; `options` those of the status.
object_need need_of(
    const context& c, const health& h, std::size_t number, const render_options& options
);

/// Makes the planned objects and repairs them, in their order (2.1, 2.6, 2.7). True if all are
/// there as wanted, so that pods may follow.
bool ensure_objects(const context& c, const health& h, work& out);
/// ConfigMaps of older attempts of which no pod is left (5.7).
void remove_old_config_maps(const context& c, work& out);

// Says for what the job waits because of that refusal.
void wait_for_refused(const refusal& r, work& out);

// left_overs.cpp: deletes pods that are not wanted as they are (1.3, 5.7).
void remove_left_overs(const context& c, work& out);

// gang.cpp: what the scheduler of the job's gang lets happen (8).

/// Who schedules the pods is chosen, if the job left that open (8.15). Else the job waits.
bool is_scheduler_chosen(const context& c, work& out);
/// Its kind is served, so that what pods are placed by can be made (8.4). Else the job waits.
bool is_gang_served(const context& c, work& out);
/// Pods may be made (8.5). Else the job waits.
bool lets_pods_in(const context& c, work& out);
/// Why pods that are there do not start (8.5, 8.9).
void tell_of_gang(const context& c, work& out);
/// What another scheduler had for the job before it was resumed (8.3).
void remove_other_gangs(const context& c, work& out);

// quota.cpp: what is read and written where pods need quota (8.11-8.14).

/// What asks for it can be made and kept.
bool asks_for_quota(const context& c, work& out);
/// Pods may be made. Else the job waits.
bool has_quota(const context& c, work& out);
/// Of a paused job: the child has quota that pods still take.
bool keeps_quota(const context& c, const child_record& child, work& out);
/// Of a job that has ended: whether the child is one that asks for quota. It is told so, once the
/// pods that go are gone, and stays. Called after pods are deleted.
bool finish_quota(const context& c, const child_record& child, work& out);

// creation.cpp: makes what is missing of the wanted objects and pods (2.1-2.8).
void create_missing(const context& c, const health& h, const open_questions& open, work& out);

// companion.cpp: makes and repairs the TensorBoard that the job asks for (9.1, 9.2).
void keep_companions(const context& c, const health& h, work& out);

// pause.cpp: deletes what is left of a paused job (6.1).
void remove_for_pause(const context& c, work& out);

// clean_up.cpp: what goes after the end of a job, and when the job itself goes (5.13, 5.14). True
// if it goes now.
bool clean_up(const context& c, work& out);

}  // namespace signalbox::core::engine
