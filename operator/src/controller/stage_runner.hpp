// SPDX-License-Identifier: Apache-2.0
//
// Carries out one stage: its actions concurrently, with slow start (BEHAVIOUR.md 2.2).
#pragma once

#include "controller/context.hpp"

#include <boost/asio/awaitable.hpp>

#include <optional>

namespace signalbox::op {

struct stage_report {
    bool complete = true;  ///< every action was acknowledged: the next stage may start
    bool troubled =
        false;  ///< an action was refused, failed, or found another world than decided on
    /// What troubled may be over at any time, and is not about these objects.
    bool transient = true;
    bool acted = false;  ///< a request was acknowledged
    /// When what waits for its turn (repair_pace) may go.
    std::optional<k8sio::steady_time> at;
};

/// Carries out `actions`, a stage of `made`. `entry` is looked at between actions: when the job is
/// deleted or its specification changes, nothing more of this decision is started. All references
/// must live until completion.
boost::asio::awaitable<stage_report> run_stage(
    context& shared,
    job_entry& entry,
    const core::job_object& decided,
    const core::decision& made,
    const core::stage& actions
);

}  // namespace signalbox::op
