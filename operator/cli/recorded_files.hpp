// SPDX-License-Identifier: Apache-2.0
//
// Recordings in files: what `kubectl get <job>,pods,svc,secret,cm -o yaml` prints.
#pragma once

#include "cli/recording.hpp"

#include <span>
#include <string>
#include <vector>

namespace signalbox::op::cli {

struct recorded_files {
    recording recorded;
    core::instant now{};
    std::vector<std::string> errors;  ///< not empty: nothing is to be used
};

/// Reads these files, `-` for standard input, as one recording. `now` is RFC 3339; if it is empty
/// the present time is taken, and a note of each job says so. A recording without any job is an
/// error.
recorded_files read_recorded_files(std::span<const std::string> paths, const std::string& now);

/// Leaves the jobs that a command line means: NAME or KIND/NAME, in that namespace; empty: any.
/// An error if it names one that is not there.
void keep_jobs(recorded_files& files, const std::string& target, const std::string& ns);
/// The complaint that none is left.
std::string no_recorded_job(const std::string& target, const std::string& ns);

}  // namespace signalbox::op::cli
