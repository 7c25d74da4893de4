// SPDX-License-Identifier: Apache-2.0
#include "engine/facts/reporting.hpp"

namespace signalbox::core::engine {

bool attempt_reports(const inputs& in, const job_status& status) {
    const bool by_policy = in.seen.reports_to != nullptr && in.seen.reports_to->of_all_jobs;
    if (!in.plan.run.reports && !by_policy) {
        return false;
    }
    bool has_pods = false;
    for (const pod_record* pod : in.seen.pods) {
        if (in.owns(*pod) && pod->attempt == status.attempt) {
            if (pod->reports) {
                return true;
            }
            has_pods = true;
        }
    }
    return !has_pods;
}

}  // namespace signalbox::core::engine
