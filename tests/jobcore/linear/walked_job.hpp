// SPDX-License-Identifier: Apache-2.0
//
// All that the library does with a job, from its text to its end, and what each step cost.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace signalbox::test {

/// In the order in which they are taken.
inline constexpr std::array<std::string_view, 8> steps{
    "parse", "read", "update", "decide", "render", "observe", "explain", "text"};

/// Seconds of this thread's processor for each of the steps.
using step_costs = std::array<double, steps.size()>;

/// Parses, compiles, decides with the pods that come of it until all have ended, renders every
/// object, reads it as the server's, explains, writes and reads the status, and does it again
/// through the text API.
step_costs walk_job(const std::string& job_json);

}  // namespace signalbox::test
