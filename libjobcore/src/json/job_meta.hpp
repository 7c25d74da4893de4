// SPDX-License-Identifier: Apache-2.0
//
// The metadata of a job object: what the parser and the reader of stored jobs have in common.
#pragma once

#include "jobcore/spec.hpp"
#include "json/json.hpp"

namespace signalbox::core::json {

/// Annotations whose key begins so are ours (BEHAVIOUR.md api 1).
inline constexpr std::string_view our_prefix = "batch.tensorstack.dev/";

/// What is missing or of another type is left empty: whoever asks decides what is an error.
/// `metadata` may be null or any JSON value.
job_meta read_job_meta(job_kind kind, const value* metadata);

}  // namespace signalbox::core::json
