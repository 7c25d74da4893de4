// SPDX-License-Identifier: Apache-2.0
//
// One pass over one job: look, decide, record, act (BEHAVIOUR.md 12.3). Nothing about kinds
// or rules is decided here.
#pragma once

#include "controller/context.hpp"
#include "k8sio/event_recorder.hpp"

#include <boost/asio/awaitable.hpp>

#include <optional>
#include <string>

namespace signalbox::op {

/// What the queue has to know after a pass.
class pass_report {
public:
    pass_report() = default;

    /// A view is behind: run again when the views advance; nothing was done.
    bool blocked = false;
    /// Something went wrong or was refused: run again after the job's growing delay.
    bool troubled = false;
    /// Something was written: there is more to decide as soon as the views show it.
    bool again = false;
    /// Run again then, though nothing is observed.
    std::optional<k8sio::steady_time> at;
};

/// Runs one pass; never two at a time on one job. `shared` and `events` must outlive it.
boost::asio::awaitable<pass_report> run_pass(
    context& shared, k8sio::event_recorder& events, job_entry_ptr entry
);

}  // namespace signalbox::op
