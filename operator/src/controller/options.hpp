// SPDX-License-Identifier: Apache-2.0
//
// What can be set about the controller, and what it counts.
#pragma once

#include "controller/features.hpp"
#include "jobcore/decide.hpp"
#include "jobcore/progress.hpp"
#include "k8sio/controller.hpp"
#include "k8sio/work_queue.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace signalbox::op {

using decide_function = std::function<core::decision(
    const core::job_object&, const core::observed&, const core::policy&, core::instant
)>;
using preview_function =
    std::function<std::string(const core::job_object&, const core::decision&, const core::action&)>;

struct controller_options {
    /// Namespaces to look after; none: all.
    std::vector<std::string> namespaces;
    /// What it does without (BEHAVIOUR.md 2.11).
    feature_set without = left_out_by_default();
    bool reads_logs = false;      ///< of pods that failed (BEHAVIOUR.md 3.13)
    bool reviews_tokens = false;  ///< of reports of progress (BEHAVIOUR.md 13.11)
    /// Where pods report their progress to; no URL: nowhere (BEHAVIOUR.md 13.10).
    core::progress_access reports_to;
    /// Kinds of jobs that it serves.
    std::vector<core::job_kind> kinds{core::all_job_kinds.begin(), core::all_job_kinds.end()};
    /// No pass begins while it says no: this process is not the leader (REQUIREMENTS.md B8). Empty:
    /// it always is. controller::take_over() says when it has become so.
    std::function<bool()> leads;
    /// Requests of ours in flight at most, over all jobs and within one stage (BEHAVIOUR.md 2.2);
    /// fewer while the server answers slowly (REQUIREMENTS.md R10).
    std::size_t max_in_flight = 32;
    /// Jobs worked on at a time; what they may send together is bounded by max_in_flight.
    std::size_t max_passes = 64;
    /// What is kept of jobs that could be read again, in bytes, and more of it for each pod
    /// (BEHAVIOUR.md 12.13); what the passes under way take of that. Several namespaces share them.
    std::size_t kept_bytes = 48u << 20;
    std::size_t kept_bytes_of_pod = 4096;
    std::size_t pass_bytes = 32u << 20;
    /// Passes of one job that observation asks for are at least this far apart, so that a burst of
    /// pod events is one pass. The first event after a quiet time is acted on at once.
    std::chrono::nanoseconds gather = std::chrono::milliseconds{25};
    /// Stages with more actions are not logged one by one, not even at level debug.
    std::size_t actions_logged = 8;
    /// Delay of a job's next pass after a failed one.
    k8sio::backoff_policy backoff;
    /// Reporting component of events.
    std::string component = "signalbox";
    /// Told of passes and of written statuses, for metrics; they must neither throw nor call the
    /// controller, and must outlive it. Null, empty: no one is told.
    k8sio::reconcile_observer* observer = nullptr;
    std::function<
        void(const core::job_object& before, const core::job_status& after, core::instant)>
        status_written;
    /// The decision, and what an object should be; replaced in tests of the controller alone.
    decide_function decide = &core::decide;
    preview_function preview = &core::preview_action;
};

/// Since construction; for metrics and tests.
struct controller_counters {
    std::uint64_t reconciles = 0;    ///< decisions made
    std::uint64_t stale_skips = 0;   ///< passes put off because a view was behind our own writes
    std::uint64_t contradicted = 0;  ///< views listed anew, because an answer showed a lost event
    std::uint64_t creates = 0;       ///< requests sent, whatever came of them
    std::uint64_t patches = 0;
    std::uint64_t removes = 0;
    std::uint64_t confirms = 0;
    std::uint64_t status_writes = 0;
    std::uint64_t status_conflicts = 0;
    std::uint64_t status_deferred = 0;
    std::uint64_t refusals = 0;  ///< creations refused for a reason that repeats
    std::uint64_t errors = 0;    ///< requests without a usable answer
    std::uint64_t events = 0;    ///< handed to the event recorder

    controller_counters& operator+=(const controller_counters& more);
};

}  // namespace signalbox::op
