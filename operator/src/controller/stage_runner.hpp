// SPDX-License-Identifier: Apache-2.0
//
// Carries out the stages of a decision: the actions of one concurrently, with slow start
// (BEHAVIOUR.md 2.2).
#pragma once

#include "controller/action_executor.hpp"
#include "controller/request_slots.hpp"
#include "controller/server_clock.hpp"
#include "k8sio/controller.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <spdlog/logger.h>

#include <cstddef>
#include <optional>

namespace signalbox::op {

struct work_report {
    /// An action was refused, failed, or found another world than decided on.
    bool troubled = false;
    /// What troubled may be over at any time, and is not about these objects.
    bool transient = true;
    bool acted = false;  ///< something was changed
    /// When what waits for its turn (repair_pace) may go.
    std::optional<k8sio::steady_time> at;
};

/// The stages of all jobs. All that it is made of must outlive it.
class stage_runner {
public:
    /// `slots`: of the requests of all jobs.
    stage_runner(
        boost::asio::any_io_executor loop,
        action_executor& actions,
        const k8sio::controller& runtime,
        server_clock clock,
        spdlog::logger& log,
        request_slots& slots
    )
        : loop_(loop),
          executor_(&actions),
          runtime_(&runtime),
          clock_(clock),
          log_(&log),
          slots_(&slots) {}

    /// Carries out `made`. `entry` is looked at between actions: when the job is deleted or its
    /// specification changes, nothing more of this decision is started. All references must live
    /// until completion.
    boost::asio::awaitable<work_report> run(
        job_entry& entry, const core::job_object& decided, const core::decision& made
    );

private:
    class work_run;

    boost::asio::any_io_executor loop_;
    action_executor* executor_;
    const k8sio::controller* runtime_;
    server_clock clock_;
    spdlog::logger* log_;
    request_slots* slots_;
};

}  // namespace signalbox::op
