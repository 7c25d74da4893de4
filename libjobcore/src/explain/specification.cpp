// SPDX-License-Identifier: Apache-2.0
//
// Errors and warnings of what the user wrote.
#include "engine/facts/chosen_scheduler.hpp"
#include "explain/story.hpp"
#include "explain/words.hpp"

#include <fmt/format.h>

namespace signalbox::core::explaining {

namespace {

/// Nothing in the specification says so (8.15).
void say_chosen_scheduler(story& s) {
    const std::string& chosen = s.after.scheduler;
    if (chosen.empty()) {
        return;
    }
    s.say(
        explain_section::specification,
        engine::is_scheduler_open(s.after) ? "no scheduler is chosen for it yet"
        : engine::has_no_scheduler(s.after)
            ? "no scheduler of gangs was there to be chosen for it when it began"
            : fmt::format("{} was chosen for it when it began", quoted_text(chosen)),
        "behaviour 8.15"
    );
}

}  // namespace

void say_specification(story& s) {
    if (!s.job.compiled) {
        return;
    }
    say_chosen_scheduler(s);
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
