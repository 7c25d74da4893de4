// SPDX-License-Identifier: Apache-2.0
//
// Where the time went, and how the attempts before ended (BEHAVIOUR.md 13.1, 13.2).
#include "engine/facts/avoided.hpp"
#include "explain/story.hpp"
#include "explain/tables.hpp"
#include "explain/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

namespace signalbox::core::explaining {
namespace {

struct share {
    std::string_view name;
    std::int64_t seconds;
    time_kind kind;
};

/// What is not booked yet is spent on what the job does now.
std::array<share, 7> shares_of(const time_spent& t, std::int64_t since) {
    std::array all{
        share{"running", t.running, time_kind::running},
        share{"lost", t.lost, time_kind::none},
        share{"stalled", t.stalled, time_kind::stalled},
        share{"restarting", t.restarting, time_kind::restarting},
        share{"starting", t.starting, time_kind::starting},
        share{"queued", t.queued, time_kind::queued},
        share{"paused", t.paused, time_kind::paused},
    };
    for (share& s : all) {
        s.seconds += s.kind == t.in && t.in != time_kind::none ? since : 0;
    }
    return all;
}

void say_time(story& s) {
    const time_spent& t = s.after.time;
    if (!t.since) {
        return;
    }
    const std::int64_t since =
        std::max<std::int64_t>(std::chrono::floor<seconds>(s.now - *t.since).count(), 0);
    const std::int64_t all = t.total() + (t.in == time_kind::none ? 0 : since);
    if (all == 0) {
        return;
    }
    std::vector<std::string> parts;
    for (const share& part : shares_of(t, since)) {
        if (part.seconds > 0) {
            parts.push_back(fmt::format(
                "{} {} ({} %)", part.name, words_of(seconds(part.seconds)), part.seconds * 100 / all
            ));
        }
    }
    s.say(
        explain_section::history,
        fmt::format("Of {} in all: {}", words_of(seconds(all)), list_of(parts, parts.size())),
        "behaviour 13.1"
    );
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
