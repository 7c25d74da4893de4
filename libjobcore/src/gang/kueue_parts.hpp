// SPDX-License-Identifier: Apache-2.0
//
// The parts of Kueue's scheduler, each in a file of its own.
#pragma once

#include "gang/quota.hpp"
#include "gang/scheduler.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core::gang::of_kueue {

/// Of a Workload; so many the server takes, and so many are read of one.
inline constexpr std::size_t most_pod_sets = 8;

extern const object_kind_row resource_flavor;
extern const object_kind_row workload_priority_class;

// kueue_read.cpp

/// What a Workload says.
gang_answer read(const json::value& workload);

// kueue_write.cpp

/// quota_scheme::status.
std::string status_of(const quota_answer& says, const quota_change& change);

// kueue_admit.cpp

/// The members of a podSetUpdate that pods get.
admitted_marks read_marks(const json::value& update);
std::vector<named_object> flavors_of(const quota_answer& says);
admission_record admit(
    const quota_answer& says, std::string_view uid, std::span<const object_reading> read
);
/// What of a pod Kueue looks at: resources, and on which nodes it may run.
std::string template_of(const json::value& pod);

}  // namespace signalbox::core::gang::of_kueue
