// SPDX-License-Identifier: Apache-2.0
//
// What became of the jobs of `signalbox dev`, for programs.
#pragma once

#include "commands/progress.hpp"

#include <iosfwd>
#include <string>
#include <vector>

namespace signalbox::op::cli {

/// `{"jobs": [...], "files": [...], "code": 0}`. `files`: what was told of files that pods have
/// written. `code`: the exit code.
void write_dev_json(
    std::ostream& out,
    const std::vector<job_row>& jobs,
    const std::vector<std::string>& files,
    int code
);

/// As systems for continuous integration read tests: a test case for each job, with a `failure` if
/// it failed and an `error` if it has not ended.
std::string junit_of(const std::vector<job_row>& jobs);

}  // namespace signalbox::op::cli
