// SPDX-License-Identifier: Apache-2.0
//
// A decision in sentences: what a job is doing and why, what it waits for, what happens next and
// when. Everything said follows from decide() on the same input, so that it can be read from a
// recording as well as from a cluster.
#pragma once

#include "jobcore/decide.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core {

enum class explain_section {
    phase,          ///< what the job is, and why
    awaited,        ///< what has to happen outside of the operator
    next,           ///< what happens next by the clock
    actions,        ///< what the operator does now, one line per action
    history,        ///< restarts, disruptions, replicas that ended
    specification,  ///< errors and warnings of what the user wrote
};
/// `phase`, `awaited` ...: for programs. Has static storage.
std::string_view to_string(explain_section section);
/// `What is awaited` ...: for people. Has static storage.
std::string_view title(explain_section section);

/// One sentence, and the rule that it follows from.
struct explain_line {
    explain_section section = explain_section::phase;
    std::string sentence;
    /// A rule of libjobcore/BEHAVIOUR.md, e.g. `behaviour 5.8` or `api 6`, which `signalbox docs
    /// rule` shows; empty for a mere fact. Has static storage.
    std::string_view rule;

    friend bool operator==(const explain_line&, const explain_line&) = default;
};

/// Explains the job. The arguments are those of decide(), under the same conditions; lines come by
/// section, in the order of the sections. `seen.refusals` may be unknown, as it is in a recording:
/// where the status tells of a refusal, the text then says that the time of the next try is not
/// known. Depends on its arguments alone; may be called from any thread. Never throws but for lack
/// of memory.
std::vector<explain_line> explain(
    const job_object& job, const observed& seen, const policy& rules, instant now
);

}  // namespace signalbox::core
