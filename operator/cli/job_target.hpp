// SPDX-License-Identifier: Apache-2.0
//
// A job as a user names it on the command line.
#pragma once

#include <jobcore/spec.hpp>

#include <optional>
#include <string>
#include <vector>

namespace signalbox::op::cli {

struct job_target {
    std::string name;
    std::vector<core::job_kind> kinds;  ///< that it may be of, in the order to look
};

/// The kinds that a word of kubectl names, e.g. `pj`: one, or none.
std::vector<core::job_kind> job_kinds_called(const std::string& word);
/// Reads `NAME` or `KIND/NAME`, with a kind as kubectl takes it. Nothing if it is neither.
std::optional<job_target> parse_job_target(const std::string& text);
/// The complaint about a text that names no job.
std::string no_job_target(const std::string& text);

}  // namespace signalbox::op::cli
