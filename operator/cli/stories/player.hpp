// SPDX-License-Identifier: Apache-2.0
//
// Plays a story in a cluster: time goes on, pods live as the story says, and what is expected is
// looked for.
#pragma once

#include "cli/stories/cluster.hpp"
#include "cli/stories/expectations.hpp"
#include "cli/stories/story.hpp"

#include <string>
#include <vector>

namespace signalbox::op::stories {

enum class verdict {
    passed,
    failed,   ///< something is not as expected
    stopped,  ///< a step could not be done
    skipped,  ///< it is for the engine alone
};

/// Nothing is wrong.
constexpr bool is_right(verdict end) {
    return end == verdict::passed || end == verdict::skipped;
}

struct played {
    verdict end = verdict::passed;
    std::vector<mismatch> wrong;  ///< of the steps that failed
    std::string stopped;          ///< why a step could not be done
    std::string stopped_at;       ///< the pointer of that step
    std::vector<timeline_entry> timeline;
    std::vector<core::explain_line> explained;  ///< when it failed
    core::milliseconds took{};                  ///< of the story's time
};

/// Plays to the end, or to the first step that fails; `to_the_end`: goes on after one that has
/// other results than expected.
played play(const story& of, cluster& stage, bool to_the_end);

}  // namespace signalbox::op::stories
