// SPDX-License-Identifier: Apache-2.0
//
// Labels of children (BEHAVIOUR.md 1.6), and those that somebody has changed (2.7). Depends on the
// arguments alone; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Keys by which others find the pods of a job, and tell them apart.
namespace signalbox::core::label {

/// The job's name.
inline constexpr std::string_view owner_name = "tensorstack.dev/owner-name";
/// The job's UID: one job's pods and no other's.
inline constexpr std::string_view job_uid = "batch.tensorstack.dev/job-uid";
/// The replica type.
inline constexpr std::string_view replica_type = "replica-type";
/// The replica's number in its type, from 0.
inline constexpr std::string_view replica_index = "replica-index";
/// The attempt that the pod is of, from 0.
inline constexpr std::string_view attempt = "batch.tensorstack.dev/attempt";
/// How often the replica was made anew in its attempt, from 0.
inline constexpr std::string_view round = "batch.tensorstack.dev/round";

}  // namespace signalbox::core::label

namespace signalbox::core {

/// A merge patch that gives the live object the labels of ours which `wanted` has and it has not;
/// nothing if all are there. `attempt` and `round` are never patched (BEHAVIOUR.md 2.7), and labels
/// of the user are left as they are.
std::optional<std::string> label_patch(std::string_view wanted, std::string_view live);

/// Keys of the labels of ours that `wanted` has, and `live` has not or with another value.
std::vector<std::string> lost_labels(std::string_view wanted, std::string_view live);

}  // namespace signalbox::core
