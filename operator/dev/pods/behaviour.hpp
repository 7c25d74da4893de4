// SPDX-License-Identifier: Apache-2.0
//
// What a simulated pod does: durations, exit codes and faults. README.md describes the settings.
#pragma once

#include "manifests/duration.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox::op::pods {

/// Times are counted from the step before; those of faults from the start of the containers.
struct behaviour {
    duration schedule_after = std::chrono::milliseconds{10};
    duration start_after = std::chrono::milliseconds{100};   ///< image pull and container creation
    duration init_duration = std::chrono::milliseconds{50};  ///< all init containers together
    duration ready_after{0};
    /// How long the training container runs. Absent: 3 s, or without end if its command idles.
    std::optional<duration> run_for;
    duration stop_after = std::chrono::milliseconds{100};  ///< from the deletion until it is gone
    bool sidecars_end = false;  ///< other containers end with the training container
    std::int32_t exit_code = 0;
    std::string message;  ///< termination message
    std::string reason;   ///< of the terminated state; empty: `Completed` or `Error`
    /// How long a step of its training takes; absent: it reports none.
    std::optional<duration> step_every;
    std::int32_t total_steps = 1000;
    std::int32_t checkpoint_every = 0;  ///< steps; 0: none

    // Faults. They befall every pod, unless bounded by the two settings that follow.
    std::optional<duration> fail_at;     ///< ends with exit_code (1 if that is 0) at this time
    std::optional<duration> oom_at;      ///< OOMKilled, 137
    std::optional<duration> evict_at;    ///< by the kubelet: Failed/Evicted and DisruptionTarget
    std::optional<duration> preempt_at;  ///< by the scheduler: DisruptionTarget, then deleted
    std::optional<duration> delete_at;   ///< a user deletes the pod
    std::optional<duration> vanish_at;   ///< the pod object is gone at once
    std::optional<duration> unknown_at;  ///< the node is lost: phase Unknown
    std::optional<duration> stall_at;    ///< it makes no further step, and runs on
    std::optional<duration> unschedulable_for;
    std::optional<duration> image_error_for;
    std::string image_error = "ImagePullBackOff";
    std::int32_t init_exit_code = 0;

    std::int32_t fail_times = 0;  ///< faults befall the first this many pods of an index; 0: all
    std::string only_index;       ///< faults befall these indexes, e.g. `0-3,7`; empty: all

    friend bool operator==(const behaviour&, const behaviour&) = default;
};

/// What befalls a pod at a time of its own.
enum class fault {
    out_of_memory,  ///< its training is killed, as the kernel does where memory runs out
    evict,          ///< by its node
    preempt,        ///< by the scheduler
    remove,         ///< a user deletes it
    vanish,         ///< its object goes at once
    lose_node,      ///< nothing is heard of its node any more
    kill,           ///< its training ends
};

struct fault_setting {
    std::string_view key;  ///< in annotations and scenarios
    std::optional<duration> behaviour::*at;
    fault what;
};

/// All of them. Of two at the same time the first one here comes first.
inline constexpr std::array fault_settings{
    fault_setting{"oom-at", &behaviour::oom_at, fault::out_of_memory},
    fault_setting{"evict-at", &behaviour::evict_at, fault::evict},
    fault_setting{"preempt-at", &behaviour::preempt_at, fault::preempt},
    fault_setting{"delete-at", &behaviour::delete_at, fault::remove},
    fault_setting{"vanish-at", &behaviour::vanish_at, fault::vanish},
    fault_setting{"unknown-at", &behaviour::unknown_at, fault::lose_node},
    fault_setting{"fail-at", &behaviour::fail_at, fault::kill},
};

/// Sets one setting by its name in annotations and scenarios. Gives what is wrong, or nothing.
std::optional<std::string> set(behaviour& of, std::string_view key, std::string_view value);

/// The behaviour of the `nth` pod (from 1) of an index: without the faults that do not befall it.
behaviour for_pod(behaviour general, std::int32_t index, std::int32_t nth);

}  // namespace signalbox::op::pods
