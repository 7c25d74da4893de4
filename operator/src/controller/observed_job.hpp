// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "controller/cluster_views.hpp"
#include "controller/job_reports.hpp"
#include "jobcore/observed.hpp"

#include <vector>

namespace signalbox::op {

/// What is in view of a job, as decide() takes it, with the lists that `seen` refers to. Stays in
/// place; valid until the entry changes.
class observed_job {
public:
    observed_job(
        const cluster_views& views,
        const job_reports& reports,
        const job_entry& entry,
        bool reads_logs
    );
    observed_job(const observed_job&) = delete;
    observed_job& operator=(const observed_job&) = delete;

    const core::observed& seen() const { return seen_; }

private:
    std::vector<pod_store::record_snapshot> held_pods_;
    std::vector<child_store::record_snapshot> held_children_;
    std::vector<const core::pod_record*> pods_;
    std::vector<const core::child_record*> children_;
    core::capabilities served_;
    core::observed seen_;
};

/// Drops the absences on the entry of objects that are in view again.
void forget_disproved(const cluster_views& views, job_entry& entry);

}  // namespace signalbox::op
