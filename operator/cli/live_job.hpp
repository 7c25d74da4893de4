// SPDX-License-Identifier: Apache-2.0
//
// One job and its children read from a cluster by a few requests: no list of more than the job's
// own.
#pragma once

#include "cli/commands.hpp"
#include "cli/recording.hpp"

#include <string>
#include <vector>

namespace signalbox::op::cli {

struct live_read {
    std::vector<recorded_object> objects;
    recording_facts facts;
    std::vector<std::string> notes;
    std::string error;  ///< not empty: nothing else is there
};

/// Reads the job that `target` names, `NAME` or `KIND/NAME` as kubectl takes it, in `ns` (empty:
/// that of the context); a NAME that several kinds have gives all of them. Children are found by
/// the label of the job's UID. Kinds of children that may not be listed are noted and left out, but
/// for pods; kinds of jobs that may not be read count as long as no job is found.
live_read read_live(
    const cluster_options& cluster, const std::string& target, const std::string& ns
);

}  // namespace signalbox::op::cli
