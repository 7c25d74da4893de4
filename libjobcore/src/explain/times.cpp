// SPDX-License-Identifier: Apache-2.0
//
// Where the time went, and how the attempts before ended (BEHAVIOUR.md 13.1, 13.2).
#include "engine/facts/avoided.hpp"
#include "explain/story.hpp"
#include "explain/tables.hpp"
#include "explain/words.hpp"
#include "jobcore/account.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

namespace signalbox::core::explaining {
namespace {

void say_time(story& s) {
    const time_account account = account_of(s.after.time, s.now);
    const std::array percentages = account.percentages();
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < percentages.size(); ++i) {
        const time_share& part = account.shares[i];
        if (part.seconds > 0) {
            parts.push_back(fmt::format(
                "{} {} ({} %)", part.name, words_of(seconds(part.seconds)), percentages[i]
            ));
        }
    }
    if (!parts.empty()) {
        s.say(
            explain_section::history,
            fmt::format(
                "Of {} in all: {}", words_of(seconds(account.total())), list_of(parts, parts.size())
            ),
            "behaviour 13.1"
        );
    }
}

std::string why(const attempt_record& a) {
    const auto* m = find_meaning(cause_meanings(), std::string_view(a.reason));
    return m == nullptr ? a.reason : std::string(m->text);
}

std::string whose(const attempt_record& a) {
    std::string out = a.pod;
    if (!out.empty() && !a.node.empty()) {
        out += fmt::format(" on node {}", a.node);
    }
    return out.empty() || !a.rank ? out : fmt::format("{}, rank {},", out, *a.rank);
}

void say_avoided(story& s) {
    if (s.spec() == nullptr) {
        return;
    }
    const seconds time(s.spec()->policy.avoid_seconds);
    for (const avoided_node& n : s.after.avoided) {
        if (n.time && s.now < *n.time + time && engine::is_forgiven(s.job.meta, n.node)) {
            s.say(
                explain_section::history,
                fmt::format(
                    "Node {} is not avoided, though rule {} laid {} to it: an annotation forgives "
                    "it",
                    n.node,
                    n.rule,
                    counted(n.count, "incident")
                ),
                "behaviour 13.6"
            );
        } else if (n.time && s.now < *n.time + time) {
            s.say(
                explain_section::history,
                fmt::format(
                    "Later pods {} node {} until {}: rule {} laid {} to it",
                    s.spec()->policy.avoid == avoid_policy::required ? "must avoid" : "avoid",
                    n.node,
                    words_of(*n.time + time, s.now),
                    n.rule,
                    counted(n.count, "incident")
                ),
                "behaviour 13.6"
            );
        }
    }
}

}  // namespace

void say_attempts(story& s) {
    say_time(s);
    for (const attempt_record& a : s.after.attempt_history) {
        const std::string who = whose(a);
        const bool known = a.start && a.end && *a.end >= *a.start;
        s.say(
            explain_section::history,
            fmt::format(
                "Attempt {} ended{}{}{}: {}{}{}",
                a.attempt,
                a.end ? fmt::format(" at {}", format_time(*a.end)) : std::string(),
                known ? fmt::format(" after {}", words_of(*a.end - *a.start)) : std::string(),
                a.step ? fmt::format(", at step {}", *a.step) : std::string(),
                who,
                who.empty() ? "" : " ",
                why(a)
            ),
            "behaviour 13.2"
        );
    }
    say_avoided(s);
}

}  // namespace signalbox::core::explaining
