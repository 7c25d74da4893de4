// SPDX-License-Identifier: Apache-2.0
//
// One pass over one job: look, decide, record, act (BEHAVIOUR.md 12.3). Nothing about kinds
// or rules is decided here.
#pragma once

#include "controller/context.hpp"
#include "controller/explained_job.hpp"
#include "k8sio/controller.hpp"
#include "k8sio/event_recorder.hpp"

#include <boost/asio/awaitable.hpp>

namespace signalbox::op {

/// Runs one pass; never two at a time on one job. A null `entry` is a job that is gone: nothing is
/// done. `shared` and `events` must outlive it.
boost::asio::awaitable<k8sio::reconcile_result> run_pass(
    context& shared, k8sio::event_recorder& events, job_entry_ptr entry
);

/// What is to be said of the job on the views as they are.
explained_job explain_entry(const context& shared, const job_entry& entry);

}  // namespace signalbox::op
