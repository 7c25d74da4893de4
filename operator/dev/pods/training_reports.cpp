// SPDX-License-Identifier: Apache-2.0
#include "pods/training_reports.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::op::pods {

namespace {

std::int64_t steps_in(duration time, duration one) {
    return time / one;
}

/// Falls, as that of a training.
std::string loss_at(std::int64_t step) {
    return fmt::format("{:.4f}", 4.0 / (1.0 + static_cast<double>(step) / 100.0));
}

}  // namespace

duration training_reports::interval(const behaviour& does) {
    return std::max<duration>(does.step_every.value_or(never), std::chrono::seconds{1});
}

std::optional<core::progress_message> training_reports::report_of(
    const pod_facts& pod, const behaviour& does, duration since
) {
    const bool trains = does.step_every && *does.step_every > duration::zero() &&
                        *does.step_every != never && pod.reports();
    if (!trains) {
        return std::nullopt;
    }
    job& of = jobs_[pod.job_uid];
    if (pod.attempt > of.attempt) {
        of.attempt = pod.attempt;
        of.first = of.checkpoint;
        of.barrier.reset();
    }
    const bool stands_still = does.stall_at && since >= *does.stall_at;
    std::int64_t step =
        of.first + steps_in(stands_still ? *does.stall_at : since, *does.step_every);
    step = std::min<std::int64_t>(step, does.total_steps);
    if (stands_still) {
        of.barrier = std::min(of.barrier.value_or(step + 1), step + 1);
    }
    step = std::min(step, of.barrier.value_or(step));
    core::progress_message out;
    out.attempt = pod.attempt;
    out.rank = pod.rank;
    out.current_step = step;
    out.total_steps = does.total_steps;
    out.metrics = {{"loss", loss_at(step)}};
    const std::int64_t saved =
        does.checkpoint_every > 0 ? step / does.checkpoint_every * does.checkpoint_every : 0;
    if (saved > of.first) {
        out.checkpoint_step = saved;
        of.checkpoint = std::max(of.checkpoint, saved);
    }
    return out;
}

}  // namespace signalbox::op::pods
