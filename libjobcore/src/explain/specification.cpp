// SPDX-License-Identifier: Apache-2.0
//
// Errors and warnings of what the user wrote.
#include "explain/story.hpp"
#include "explain/words.hpp"

#include <fmt/format.h>

namespace signalbox::core::explaining {

void say_specification(story& s) {
    if (!s.job.compiled) {
        return;
    }
    for (const severity level : {severity::error, severity::warning}) {
        for (const diagnostic& d : s.job.compiled->findings) {
            if (d.level != level) {
                continue;
            }
            s.say(
                explain_section::specification,
                fmt::format(
                    "{}: {}{}{}",
                    level == severity::error ? "error" : "warning",
                    d.pointer,
                    d.pointer.empty() ? "" : ": ",
                    quoted_text(d.message)
                ),
                "api 6"
            );
        }
    }
}

}  // namespace signalbox::core::explaining
