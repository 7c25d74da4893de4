// SPDX-License-Identifier: Apache-2.0
//
// Carries out one stage: its actions concurrently, with slow start (BEHAVIOUR.md 2.2).
#pragma once

#include "controller/action_executor.hpp"
#include "controller/server_clock.hpp"
#include "k8sio/controller.hpp"
#include "k8sio/synchronization.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <spdlog/logger.h>

#include <cstddef>
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

/// The stages of all jobs, which share the requests in flight. All that it is made of must outlive
/// it.
class stage_runner {
public:
    /// `max_in_flight`: as controller_options has it.
    stage_runner(
        boost::asio::any_io_executor loop,
        action_executor& actions,
        const k8sio::controller& runtime,
        server_clock clock,
        spdlog::logger& log,
        std::size_t max_in_flight
    )
        : loop_(loop),
          executor_(&actions),
          runtime_(&runtime),
          clock_(clock),
          log_(&log),
          max_in_flight_(max_in_flight),
          slots_(loop, max_in_flight) {}

    /// Carries out `actions`, a stage of `made`. `entry` is looked at between actions: when the job
    /// is deleted or its specification changes, nothing more of this decision is started. All
    /// references must live until completion.
    boost::asio::awaitable<stage_report> run(
        job_entry& entry,
        const core::job_object& decided,
        const core::decision& made,
        const core::stage& actions
    );

private:
    class stage_run;

    boost::asio::any_io_executor loop_;
    action_executor* executor_;
    const k8sio::controller* runtime_;
    server_clock clock_;
    spdlog::logger* log_;
    std::size_t max_in_flight_;
    k8sio::semaphore slots_;
};

}  // namespace signalbox::op
