// SPDX-License-Identifier: Apache-2.0
//
// One pass over one job: look, decide, record, act (BEHAVIOUR.md 12.3). Nothing about kinds
// or rules is decided here.
#pragma once

#include "controller/explained_job.hpp"
#include "controller/job_reports.hpp"
#include "controller/job_requests.hpp"
#include "controller/key_reads.hpp"
#include "controller/stage_runner.hpp"
#include "k8sio/controller.hpp"
#include "k8sio/event_recorder.hpp"

#include <boost/asio/awaitable.hpp>

namespace signalbox::op {

/// What passes work with. All of it must outlive them.
struct pass_parts {
    const settings& config;
    server_clock clock;
    cluster_views& views;
    view_updates& updates;
    job_reports& reports;
    key_reads& keys;
    job_requests& requests;
    stage_runner& stages;
    k8sio::controller& runtime;
    k8sio::event_recorder& events;
    controller_counters& counters;
};

/// Runs one pass; never two at a time on one job. A null `entry` is a job that is gone: nothing is
/// done.
boost::asio::awaitable<k8sio::reconcile_result> run_pass(
    const pass_parts& with, job_entry_ptr entry
);

/// What is to be said of the job on the views as they are.
explained_job explain_entry(const pass_parts& with, const job_entry& entry);

}  // namespace signalbox::op
