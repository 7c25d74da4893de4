// SPDX-License-Identifier: Apache-2.0
//
// What jobs came to, as metrics: by kind, and where it is asked for, of single jobs. Sums over
// statuses, with no I/O and no clock. Without series of single jobs no label has a value from
// outside.
#pragma once

#include "job_metrics/families.hpp"

#include <jobcore/decide.hpp>

#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace signalbox::op {

/// Of how many jobs there are series of their own, at most; those that come first by namespace,
/// name and kind have them.
inline constexpr std::size_t most_jobs_with_series = 1000;

class job_metrics {
public:
    enum class series { of_kinds, of_jobs_too };
    using job_visitor = std::function<void(const core::job_object& job, core::instant now)>;
    /// Calls it with each job in view, and with the time that its record is told until.
    using all_jobs = std::function<void(const job_visitor& visit)>;

    /// `registry` gets the histograms, and must outlive the object.
    job_metrics(prometheus::Registry& registry, series wanted);

    void status_written(
        const core::job_object& before, const core::job_status& after, core::instant now
    );
    /// What was counted, and what the jobs in view are now. Linear in the jobs.
    void add_to(families& to, const all_jobs& jobs) const;

private:
    struct per_kind {
        prometheus::Histogram* time_to_running = nullptr;
        prometheus::Histogram* time_in_queue = nullptr;
        double time_lost = 0;
        std::uint64_t stalls = 0;
        std::map<std::string, std::uint64_t> restarts;     // by cause
        std::map<std::string, std::uint64_t> disruptions;  // by reason
        std::map<std::string, std::uint64_t> evictions;    // by reason
    };

    void count_incident(per_kind& kind, const core::incident_record& incident);

    series wanted_;
    std::map<core::job_kind, per_kind> kinds_;
};

}  // namespace signalbox::op
