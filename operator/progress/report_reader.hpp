// SPDX-License-Identifier: Apache-2.0
//
// The body of a report, in the protocol that `transformers` speaks by itself (BEHAVIOUR.md 13.10).
// Whatever it is, no more of it is kept than core::progress_report may hold. Pure.
#pragma once

#include <jobcore/progress.hpp>

#include <optional>
#include <string_view>

namespace signalbox::op::progress {

/// Metrics that a report may have beside those that are known by name.
inline constexpr std::size_t most_own_metrics = 8;

/// `{"trainerStatus": {"progressPercentage", "estimatedRemainingSeconds", "metrics": [{"name",
/// "value"}]}}`, of which any member may be absent. The metrics `current_step`, `total_steps`,
/// `rank`, `checkpoint_step` and `checkpoint_seconds` (rounded up) are taken for what they say; of
/// the others only numbers are kept.
/// Members that have not the form that is meant are as absent. Without a rank it is of rank 0,
/// which is the one that such programs report from. Nothing if the text is no such object.
std::optional<core::progress_message> read_report(std::string_view body);

}  // namespace signalbox::op::progress
