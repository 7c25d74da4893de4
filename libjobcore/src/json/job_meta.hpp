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

/// What `spec.scheduler` says by itself. Views of the document.
struct asked_scheduler {
    std::string_view name;   ///< of the first that it names; empty: none
    std::string_view queue;  ///< of Kueue, where it says one

    bool is_kueue() const { return name == "kueue"; }
    /// The scheduler is for the operator to choose.
    bool is_open() const { return name.empty() || name == gang_request::left_open; }
    /// The queue is for the label to name, or for what is on record of it.
    bool leaves_queue_open() const { return queue.empty() && (is_open() || is_kueue()); }
};
/// `spec` may be null or any JSON value.
asked_scheduler read_asked_scheduler(const value* spec);

/// What a status has on record; empty where what is there can be no such name (BEHAVIOUR.md api
/// 5.7).
std::string_view recorded_queue(const value& status);
bool is_queue_name(std::string_view text);
std::string_view recorded_scheduler(const value& status);

/// The queue that is meant: of a job that has begun and is not paused what the label said then
/// (BEHAVIOUR.md 8.10), unless the specification says otherwise. A view of one of them.
std::string_view queue_in_force(
    std::string_view label, bool has_begun, std::string_view recorded, const asked_scheduler& asked
);

/// What was chosen for a job that leaves its scheduler open, where that counts: not before it
/// begins, nor while it is paused (BEHAVIOUR.md 8.15).
std::string_view scheduler_in_force(
    bool has_begun, std::string_view recorded, const asked_scheduler& asked
);

/// What is missing or of another type is left empty: whoever asks decides what is an error.
/// `metadata` may be null or any JSON value.
job_meta read_job_meta(job_kind kind, const value* metadata);

}  // namespace signalbox::core::json
