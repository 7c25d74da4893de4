// SPDX-License-Identifier: Apache-2.0
//
// What one observed pod tells, without any knowledge of the job's state.
#pragma once

#include "engine/facts/termination.hpp"
#include "jobcore/observed.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace signalbox::core::engine {

/// The training container's record: the one that the pod says (BEHAVIOUR.md 1.6), else the one of
/// that name. Null if neither is there; without a name, if the pod has several.
const container_record* training_container(const pod_record& pod, std::string_view name);

/// How the training of one pod ended, if it did (BEHAVIOUR.md 4).
struct pod_end {
    std::optional<std::int32_t> exit_code;  ///< absent: the Pod failed without any code
    instant time{};                         ///< never later than now
    /// It is not told when, or the clock of the node is ahead: `time` is that of this decision.
    bool at_unknown_time = false;
    /// No deletion had been asked for and no disruption was under way (BEHAVIOUR.md 4).
    bool before_deletion = false;

    bool success() const { return exit_code == 0; }
};

/// A time that the clock of the pod's node told: it counts as between the creation of the pod and
/// now (BEHAVIOUR.md 12.8).
instant told_by_node(instant t, const pod_record& pod, instant now);

/// When the container started. Of a node whose clock is ahead it is known only that the pod
/// was there: a time that moves with now would never be long ago.
instant start_of(const pod_record& pod, const container_record* c, instant now);

/// Nothing while the training container has not ended and the Pod has not failed. `training` is
/// null where the pod has none.
std::optional<pod_end> end_of(const pod_record& pod, const container_record* training, instant now);
/// The same, by the container's name.
std::optional<pod_end> end_of(const pod_record& pod, std::string_view container, instant now);

/// The container runs or has run.
bool has_started(const container_record& container);

/// When somebody asked for the pod's deletion: its deletion timestamp less the grace period.
std::optional<instant> deletion_asked(const pod_record& pod);

/// An init container failed: no other container of the pod can have run.
bool init_failed(const pod_record& pod);

/// The container for which a pod that has not started never will without help, by its reason, e.g.
/// `ImagePullBackOff`; null if there is none. Unschedulable is none (BEHAVIOUR.md 4.13).
const container_record* hopeless_container(const pod_record& pod);

/// `pod a-b-0 cannot start: ErrImagePull: no such image`; empty if nothing says so.
std::string describe_hopeless(const pod_record& pod);

/// `pod a-b-0 cannot be scheduled: 0/4 nodes are available`.
std::string describe_unschedulable(const pod_record& pod);

/// `pod a-b-0 waits at scheduling gates: example.com/quota`.
std::string describe_gates(const pod_record& pod);

/// A container's reason says more than that it ended.
bool is_telling(std::string_view reason);

/// The signal that no one sends to end a process in order, SIGKILL and those of a crash, by the
/// code of who was ended by it or of its parent (128 + n, 256 - n); 0 for any other code.
std::int32_t crash_signal(std::int32_t code);

/// The code of a program of Python that ends by an exception, whatever it was: 1, or that of an
/// abort (128 + 6, 256 - 6) or a crash, which threads of native code may cause meanwhile. Victims
/// end so too.
bool is_code_of_raised(std::int32_t code);

/// How a process ends too that says nothing because it follows from another's end: 1, SIGTERM, or
/// an abort (BEHAVIOUR.md 3.13).
bool is_victims_code(std::int32_t code);

/// ` exited with 137 (killed by signal 9, SIGKILL)`; empty where an exception says more
/// (BEHAVIOUR.md 3.9). `reason`: the kubelet's; empty: none.
std::string describe_code(std::int32_t code, const termination_note& said, std::string_view reason);

/// `pod a-b-0, container pytorch exited with 137 (OOMKilled): CUDA out of memory`; the code is left
/// out where the exception behind it says all of it. `said`: the container's message, where the
/// caller has read it.
std::string describe_failure(
    const pod_record& pod, std::string_view container, const termination_note* said = nullptr
);

}  // namespace signalbox::core::engine
