// SPDX-License-Identifier: Apache-2.0
//
// Who schedules the pods of a job that leaves that open (BEHAVIOUR.md 8.15).
#pragma once

#include "engine/facts/inputs.hpp"
#include "json/job_meta.hpp"

#include <string>
#include <string_view>
#include <variant>

namespace signalbox::core::engine {

/// What the specification says by itself, whatever a label or the status says. Views of it.
json::asked_scheduler asked_scheduler_of(const inputs& in);

/// The job has begun, and nothing is chosen yet.
bool is_scheduler_open(const job_status& status);
/// There was none to choose.
bool has_no_scheduler(const job_status& status);

/// The specification was compiled for what was on record before: the caller has to read the job
/// again (BEHAVIOUR.md 12.16).
bool is_compiled_for_other(const inputs& in, const job_status& status);

/// What job_status::scheduler is when the job begins, or is resumed.
std::string scheduler_at_begin(const inputs& in);

/// The name of the first that is served and takes the job; `none` if there is none. A kind: nothing
/// is chosen before it is known whether that one is served.
std::variant<std::string_view, object_kind> choose_scheduler(const inputs& in);

}  // namespace signalbox::core::engine
