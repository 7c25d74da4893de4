// SPDX-License-Identifier: Apache-2.0
//
// Why the pods of a job failed, with the lines of their logs that say so, read by the rights of who
// asks (BEHAVIOUR.md 3.13).
#pragma once

#include "cli/cluster_session.hpp"
#include "cli/recording.hpp"

#include <iosfwd>
#include <string>
#include <vector>

namespace signalbox::op::cli {

struct shown_cause {
    std::string message;                ///< empty: no failure is in view or on record
    std::string pod;                    ///< whose lines they are
    std::vector<std::string> lines;     ///< printable
    std::vector<std::string> problems;  ///< logs that could not be read
    /// The pods of the failure are gone, and their logs with them: the message is that on record.
    bool of_record = false;
};

/// The lines, indented.
void print_lines(const shown_cause& cause, std::ostream& out);

/// Runs the session's loop.
shown_cause read_cause(cluster_session& session, const recorded_job& job, core::instant now);

}  // namespace signalbox::op::cli
