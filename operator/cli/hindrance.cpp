// SPDX-License-Identifier: Apache-2.0
#include "cli/hindrance.hpp"

namespace signalbox::op::cli {

std::string hindrance(const core::job_status& status) {
    if (core::is_final(status.phase)) {
        return {};
    }
    const core::condition* failure = core::find_condition(status, "ReplicaFailure");
    if (failure != nullptr && failure->status && failure->reason == "ReplicaCannotStart") {
        return failure->message;
    }
    const core::condition* running = core::find_condition(status, "Running");
    const bool unschedulable = status.reason == "Unschedulable" && running != nullptr;
    return unschedulable ? running->message : "";
}

}  // namespace signalbox::op::cli
