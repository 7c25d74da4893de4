// SPDX-License-Identifier: Apache-2.0
//
// What the processes of jobs have reported, by job, and when a report is worth a pass
// (BEHAVIOUR.md 13.7, 13.11). Nothing of it must survive a restart: it is in the status, too.
#pragma once

#include "controller/cluster_views.hpp"
#include "controller/server_clock.hpp"
#include "controller/settings.hpp"
#include "jobcore/progress.hpp"

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

namespace signalbox::op {

/// What became of a report.
enum class report_outcome {
    taken,
    no_pod,     ///< no pod in view has that UID
    not_asked,  ///< the pod was not made to report
    other_job,  ///< it is no pod of the job that the report is about, or that has ended
    old_attempt,
};

/// From whom a report is, and about which job.
struct report_sender {
    std::string ns, pod_uid;
    std::string plural, job_name;  ///< what it says that it belongs to
};

class job_reports {
public:
    /// `wake` asks for a pass over a job. All must outlive stop().
    job_reports(
        const settings& config,
        server_clock clock,
        k8sio::clock& timers,
        const cluster_views& views,
        std::function<void(const std::string& uid)> wake
    );
    ~job_reports() { stop(); }
    job_reports(const job_reports&) = delete;
    job_reports& operator=(const job_reports&) = delete;

    /// Whether a report of that pod would be looked at at all; before its token is.
    report_outcome look_at(const report_sender& from) const;
    /// Takes a report into the record of its job; of `said` the attempt is that of the pod. Of an
    /// attempt that is over a checkpoint alone counts, as long as it saves something. The first
    /// report of an attempt and one that says 100 % ask for a pass at once, others after
    /// policy::progress_interval.
    report_outcome take(const report_sender& from, core::progress_message said);

    /// From now on all reports are taken: this process decides.
    void listen();
    /// What of the job decide() is to see.
    void show(const std::string& uid, core::observed& to) const;
    void forget(const std::string& uid);
    /// No pass is asked for any more.
    void stop();
    std::size_t size() const { return records_.size(); }

private:
    struct record {
        core::progress_report report;
        k8sio::steady_time woken_at;
        k8sio::clock::timer_id timer = 0;  ///< 0: none is set
    };
    void wake(const std::string& uid, record& of);
    void wake_later(const std::string& uid, record& of);

    const settings* config_;
    server_clock clock_;
    k8sio::clock* timers_;
    const cluster_views* views_;
    std::function<void(const std::string&)> wake_;
    std::optional<core::instant> since_;
    std::unordered_map<std::string, record> records_;
};

}  // namespace signalbox::op
