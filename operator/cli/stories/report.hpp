// SPDX-License-Identifier: Apache-2.0
//
// What became of stories: for people, for TAP, for JUnit.
#pragma once

#include "cli/junit_report.hpp"
#include "cli/stories/player.hpp"
#include "cli/stories/story.hpp"

#include <iosfwd>
#include <string>
#include <vector>

namespace signalbox::op::stories {

struct told_story {
    std::string file, title;
    verdict end = verdict::passed;
    core::milliseconds took{};
    std::string message;               ///< what is wrong, in a line
    std::vector<std::string> details;  ///< differences, timeline, explanation
};
told_story tell(const story& of, const played& how);

void print_text(const std::vector<told_story>& all, std::ostream& out);
/// TAP 13, what is wrong as comments.
void print_tap(const std::vector<told_story>& all, std::ostream& out);
std::string junit_of(const std::vector<told_story>& all);

}  // namespace signalbox::op::stories
