// SPDX-License-Identifier: Apache-2.0
//
// What the simulated kubelet reports of a pod, step by step.
#pragma once

#include "pods/behaviour.hpp"
#include "pods/pod_facts.hpp"
#include "pods/pod_status.hpp"
#include "pods/timeline.hpp"

#include <jobcore/time.hpp>

#include <optional>
#include <string>

namespace signalbox::op::pods {

enum class containers_state { waiting, image_error, init, running, ended };

/// What the simulated kubelet has reported of a pod, in the form in which it reports it next.
struct pod_report {
    std::string phase = "Pending";
    std::string reason;   ///< of the pod, e.g. `Evicted`
    std::string message;  ///< of the pod
    containers_state state = containers_state::waiting;
    bool scheduled = false;
    bool initialized = false;
    bool ready = false;
    bool sidecars_run = false;  ///< although the training container ended
    bool init_failed = false;
    /// Reason and message of condition DisruptionTarget; none if the reason is empty.
    std::string disruption;
    std::string ip;
    std::int32_t exit_code = 0;
    std::string exit_reason;
    std::string exit_message;
    std::optional<core::instant> accepted;  ///< by the kubelet
    std::optional<core::instant> started, finished;
};

/// Carries a step into the report. Steps that are no status (bind, remove, vanish) change nothing.
void apply(
    pod_report& report, step what, const pod_facts& pod, const behaviour& does, core::instant now
);

/// The report as a status; conditions have the time `now`.
pod_status status_of(const pod_report& report, const pod_facts& pod, core::instant now);

}  // namespace signalbox::op::pods
