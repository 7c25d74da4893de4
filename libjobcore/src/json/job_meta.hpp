// SPDX-License-Identifier: Apache-2.0
//
// The metadata of a job object: what the parser and the reader of stored jobs have in common.
#pragma once

#include "jobcore/spec.hpp"
#include "json/json.hpp"

namespace signalbox::core::json {

/// Annotations whose key begins so are ours (BEHAVIOUR.md api 1).
inline constexpr std::string_view our_prefix = "batch.tensorstack.dev/";

/// What users of Kueue name the queue of a job by.
inline constexpr std::string_view queue_label = "kueue.x-k8s.io/queue-name";

/// The queue that is meant: of a job that has begun and is not paused what the label said then
/// (BEHAVIOUR.md 8.10). A view of one of them.
constexpr std::string_view queue_in_force(
    std::string_view label, bool has_begun, std::string_view recorded
) {
    return has_begun ? recorded : label;
}

/// What was chosen for a job that leaves its scheduler open, where that counts: not before it
/// begins, nor while it is paused (BEHAVIOUR.md 8.15).
constexpr std::string_view scheduler_in_force(bool has_begun, std::string_view recorded) {
    return has_begun ? recorded : std::string_view();
}

/// What is missing or of another type is left empty: whoever asks decides what is an error.
/// `metadata` may be null or any JSON value.
job_meta read_job_meta(job_kind kind, const value* metadata);

}  // namespace signalbox::core::json
