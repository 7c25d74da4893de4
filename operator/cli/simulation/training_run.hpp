// SPDX-License-Identifier: Apache-2.0
//
// A job that trains through failures, in virtual time: the engine decides, chance fails the pods.
// Nothing here reads a clock or has state of its own; equal arguments give equal runs.
#pragma once

#include <jobcore/decide.hpp>
#include <jobcore/policy.hpp>

#include <cstdint>
#include <string>

namespace signalbox::op::cli {

/// How a job trains, and what happens to its pods. A mean time of zero: it never happens.
struct training_model {
    core::milliseconds work{};              ///< what training takes if nothing fails
    core::milliseconds checkpoint_every{};  ///< of work; zero: nothing is ever saved
    core::milliseconds checkpoint_takes{};
    core::milliseconds start_takes{};  ///< from the creation of a pod until its program trains
    /// Mean time until a pod that runs loses its node: a disruption (BEHAVIOUR.md 5.4).
    core::milliseconds node_mtbf{};
    /// Mean time until the program of a pod that runs exits with 1.
    core::milliseconds program_mtbf{};
    core::milliseconds limit{};  ///< a run that has not ended by then is given up
};

/// What came of one run.
struct training_outcome {
    /// `Succeeded`, the reason of a job that failed, or of a run that was given up, or in which
    /// nothing would ever happen again, the phase: `still Paused`.
    std::string end;
    core::milliseconds total{};   ///< from the job's creation to its end
    core::milliseconds useful{};  ///< work that was kept
    core::milliseconds lost{};    ///< work since the last checkpoint, when a pod failed
    core::milliseconds saving{};  ///< checkpoints
    std::uint64_t nodes = 0;      ///< that were lost
    std::uint64_t programs = 0;   ///< that failed
    std::uint64_t attempts = 0;

    /// What is left of the time: nothing trained.
    core::milliseconds waiting() const { return total - useful - lost - saving; }
};

/// One run of the job from its creation at `core::instant{}` on. Training goes on while all wanted
/// pods run, and goes back to the last checkpoint when one of them fails. Every write succeeds at
/// once and what is deleted is gone at once. `job_json` must be a valid job with name, namespace
/// and UID, and without a gang scheduler; `job` is what read_job gave of it.
training_outcome run_training(
    const core::job_object& job,
    const std::string& job_json,
    const training_model& model,
    const core::policy& rules,
    std::uint64_t seed
);

}  // namespace signalbox::op::cli
