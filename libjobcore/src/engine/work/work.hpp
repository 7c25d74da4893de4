// SPDX-License-Identifier: Apache-2.0
//
// What is to be done about the children of a job, by what is recorded: staged actions, what the job
// waits for, and when to decide again. Nothing here changes the status.
#pragma once

#include "engine/rules/open.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core::engine {

/// What a job may wait for, the most telling first: of several, status shows the first.
enum class wait_rank {
    namespace_deleted,
    room,  ///< other jobs of the namespace have to end first
    gang_not_served,
    object,         ///< one of the objects that pods need
    older_attempt,  ///< its pods are still being deleted
    quota,
    pod_refused,  ///< its name is taken, or something that it needs is missing
    name_held,    ///< by an older pod of the job
    restart_delay,
    gang_waits,  ///< the scheduler says why it does not let the pods start
    unschedulable,
    gang_not_ready,  ///< the pods wait for their scheduler to admit them all
    gated,           ///< somebody else holds a pod back from the scheduler
    workers,         ///< a later stage waits for the one before
    creation,        ///< the pods are being created and started
};

/// Why the job does not go on at once.
struct wait {
    wait_rank rank = wait_rank::creation;
    engine::reason reason = reason::creating_pods;
    std::string message;
};

/// When to decide again.
struct wake_up {
    instant at;
    /// Shown as the reason of `nextTransition` where the time is anchored in a recorded fact
    /// (BEHAVIOUR.md api 5.5).
    std::optional<awaited> shown_as{};
};

/// What was done to the TensorBoard, as a status says it (BEHAVIOUR.md 9.2).
enum class board_action { create, update };
/// `Create`, `Update`. Has static storage.
constexpr std::string_view to_string(board_action a) {
    return a == board_action::create ? "Create" : "Update";
}

struct work {
    std::vector<stage> stages;
    /// Facts of a job that has ended, which an event has told (BEHAVIOUR.md 11.2).
    std::vector<reason> told;
    std::optional<wait> waits;  ///< the first by rank, then by order of finding
    std::vector<wake_up> wake_ups;
    std::vector<event> events;
    /// The creation of pods is decided: the job starts, if it has not (BEHAVIOUR.md 5.12).
    bool creates_pods = false;
    /// What is done to the TensorBoard, if anything is.
    std::optional<board_action> board;

    /// An empty stage is left out.
    void add(stage actions);
    void wait_for(wait_rank rank, reason why, std::string message);
};

/// The work of a job in its present phase; none beside a record.
work plan_work(const context& c, const health& h, const open_questions& open);

/// The size that is written into the specification once, as the last stage (BEHAVIOUR.md 7.1).
/// `made` is the decision without it.
std::optional<action> write_size(const inputs& in, const decision& made);

/// How the TensorBoard of the job stands (BEHAVIOUR.md 9.2); nothing if none is asked for.
/// `done` is what was last done to it.
std::optional<tensorboard_status> mirror_companion(const context& c, std::string done);

}  // namespace signalbox::core::engine
