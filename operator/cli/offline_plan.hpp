// SPDX-License-Identifier: Apache-2.0
//
// The operator's loop without a cluster: decisions are carried out on objects in memory until
// nothing changes any more.
#pragma once

#include <jobcore/decide.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace signalbox::op::cli {

struct planned_object {
    std::string json;  ///< as it is sent to the API server
    std::string why;
    std::string_view rule;
};

struct offline_plan {
    std::vector<planned_object> objects;  ///< in the order of their creation
    std::string job;                      ///< the job with the status it ends up with
    std::vector<core::event> events;
    /// Pods were taken as ready to get to a later stage.
    bool assumed_ready = false;
    std::string error;  ///< not empty: the loop did not come to rest; what is above is incomplete
};

/// `job_json` must be a valid job with name, namespace and UID. All times are `now`.
offline_plan plan_offline(
    std::string job_json,
    const core::capabilities& served,
    const core::policy& rules,
    core::instant now
);

}  // namespace signalbox::op::cli
