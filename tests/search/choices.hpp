// SPDX-License-Identifier: Apache-2.0
//
// What can happen next in a world: what comes by itself, and what an adversary does.
#pragma once

#include "world.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::search {

enum class op : std::uint8_t {
    // The process that decides.
    pass,          ///< decides and does all of it
    pass_defers,   ///< a deferrable status stays unwritten (BEHAVIOUR.md 4.16)
    lose_request,  ///< one write never reaches the server
    lose_answer,   ///< one write takes effect, and no one learns of it
    crash,         ///< the process ends after so many writes; another one starts
    refuse_forbidden,
    refuse_invalid,
    refuse_quota,
    refuse_not_found,
    refuse_terminating,  ///< the namespace is being deleted
    refuse_unavailable,  ///< 429 or 5xx: nothing is known of the object
    // What the process is shown.
    hold_pods,  ///< its view of pods stays behind from now on
    hold_children,
    hold_job,  ///< it does not see edits of the specification
    deliver,   ///< all views are the present again
    // Pods.
    all_start,
    start,
    exits,
    kill,       ///< somebody deletes it
    gone,       ///< its deletion ends
    all_gone,   ///< those of all pods on living nodes, and of other children
    evict,      ///< by its own limit: `Evicted`, without DisruptionTarget
    preempt,    ///< DisruptionTarget, then deleted
    vanish,     ///< the object is removed by force
    node_dies,  ///< it is deleted, and nothing ends the deletion
    no_code,    ///< the Pod fails without any container's code
    init_fails,
    cannot_pull,
    pull_works,
    unschedulable,
    lose_labels,
    mislabel,        ///< one label of it gets a wrong value
    unwatch,         ///< it loses the label by which children are watched
    master_unknown,  ///< its phase is Unknown
    // Other children.
    delete_child,
    edit_child,
    replace_data,
    take_name,  ///< an object of another owner gets the name of something that is to be created
    free_names,
    board_ready,
    report,      ///< a process of the job reports a further step
    checkpoint,  ///< one reports that a further checkpoint is written, in its grace too
    // The server.
    refuse_pods,  ///< all of them, until it accepts them again
    accept_pods,
    stop_serving,
    serve,
    // Kueue, or who writes into its Workload.
    queue_answers,  ///< quota is given, or it says why not; checks are done
    admit_in_part,  ///< with no more than the minimum
    reserve,        ///< quota is kept, and a check is not done
    take_quota,     ///< it is evicted
    reserve_anew,   ///< unseen it was evicted and admitted again
    deactivate,
    activate,
    finish_workload,  ///< somebody says that the job has ended
    close_queue,      ///< no quota is left
    open_queue,
    // The user.
    pause,
    resume,
    resize,
    change_limit,
    change_deadline,
    change_spec,  ///< to another one of the configuration, or back
    break_spec,
    mend_spec,
    drop_board,  ///< `tensorboardSpec` is taken out
    delete_job,
    damage_status,  ///< a field of it, by hand
    // Time.
    wake,        ///< to the wake-up that was asked for
    half_way,    ///< half-way to it
    long_time,   ///< eleven minutes
    time_back,   ///< the server's clock is set back by 20 s
    set_clocks,  ///< those of the nodes differ from the server's
    count
};
/// As in a trace, e.g. `node dies`.
std::string_view to_string(op o);

struct choice {
    op what = op::pass;
    std::uint8_t at = 0;  ///< which pod, child, write or name
    std::int16_t value = 0;
    friend bool operator==(const choice&, const choice&) = default;
};

/// One choice in words that tell it from all others in this world: `exits worker-0 137`.
std::string to_words(const world& w, const choice& c);

/// Everything of the configuration's faults that can happen here, and a pass where one is not what
/// comes by itself.
std::vector<choice> all_choices(const world& w);

/// What happens next if no one interferes: views are delivered, passes do what there is to do,
/// deletions end, pods start, time passes to the next wake-up. Nothing if the world is at rest.
std::optional<choice> natural_choice(const world& w);

/// The pod would start by itself.
bool can_start(const world& w, const core::pod_record& pod);
/// It runs a TensorBoard.
bool is_board(const core::child_record& child);

/// The choice that reads so here, if there is one.
std::optional<choice> find_choice(const world& w, std::string_view words);

}  // namespace signalbox::search
