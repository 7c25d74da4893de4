// SPDX-License-Identifier: Apache-2.0
//
// What happens next by the clock.
#include "engine/facts/reasons.hpp"
#include "explain/story.hpp"
#include "explain/tables.hpp"
#include "explain/words.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::core::explaining {
namespace {

using engine::awaited;
using engine::reason;
using engine::says;

constexpr auto next_section = explain_section::next;

void say_at(story& s, instant t, std::string_view what, std::string_view rule) {
    s.say(next_section, fmt::format("At {} {}", words_of(t, s.now), what), rule);
}

void say_transition(story& s) {
    const auto& next = s.after.next_transition;
    if (!next) {
        return;
    }
    if (const auto* m = find_meaning(transition_meanings(), std::string_view(next->reason))) {
        say_at(s, next->time, m->text, m->rule);
    }
}

/// Only the nearest time is in status; this one matters to users though another comes first.
void say_deadline(story& s) {
    const job_spec* spec = s.spec();
    const auto limit = spec != nullptr  ? spec->policy.active_deadline_seconds
                       : s.job.compiled ? s.job.compiled->fragments.run.active_deadline_seconds
                                        : std::nullopt;
    if (!limit || is_final(s.after.phase)) {
        return;
    }
    const auto& next = s.after.next_transition;
    constexpr std::int64_t far = 100LL * 365 * 24 * 3600;
    if (!s.after.start_time) {
        s.say(
            next_section,
            fmt::format(
                "The deadline of {} counts from the start of the first pod of the {}",
                words_of(seconds(std::min(*limit, far))),
                s.after.phase == job_phase::paused ? "resumed job" : "job"
            ),
            "behaviour 5.12"
        );
    } else if (*limit < far && (!next || !says(next->reason, awaited::deadline))) {
        const auto* m = find_meaning(transition_meanings(), awaited::deadline);
        say_at(s, *s.after.start_time + seconds(*limit), m->text, m->rule);
    }
}

/// How long an attempt may stand still: when that began is not in status.
void say_stall(story& s) {
    const job_plan* plan = s.plan();
    const bool runs = s.after.phase == job_phase::running && !says(s.after.reason, reason::stalled);
    if (plan == nullptr || !runs || (s.spec() != nullptr && s.spec()->mode.debug)) {
        return;
    }
    const auto& progress = s.after.progress;
    const bool reported = progress && progress->attempt == s.after.attempt && progress->advanced;
    const auto patience =
        reported ? std::optional(plan->run.stall_after) : plan->run.first_report_after;
    if (patience) {
        s.say(
            next_section,
            fmt::format(
                "If {} for {}, it counts as stalled{}",
                reported ? "it makes no progress" : "no one reports progress",
                words_of(seconds(*patience)),
                plan->run.on_stall == stall_action::restart ? " and is restarted" : ""
            ),
            "behaviour 13.8"
        );
    }
}

/// When the first action that the server refused before is tried again.
std::optional<instant> first_retry(const story& s) {
    std::optional<instant> out;
    for (const stage& actions : s.decisions.back().stages) {
        for (const action& a : actions) {
            const bool refused = std::ranges::any_of(s.seen.refusals, [&](const refusal& r) {
                return is_refusal_of(r, a);
            });
            if (refused && a.not_before) {
                out = std::min(out.value_or(*a.not_before), *a.not_before);
            }
        }
    }
    return out;
}

/// Times that are not in status: tries of what was refused, and checks of what is not served.
void say_retry(story& s) {
    if (s.refusals_unknown) {
        const bool quota = says(s.after.reason, reason::quota_exceeded);
        s.say(
            next_section,
            fmt::format(
                "The operator tries again {} after a refusal, doubling to {}; when it did last is "
                "not in the record",
                words_of(quota ? s.rules.quota_retry : s.rules.name_retry),
                words_of(quota ? s.rules.quota_retry_max : s.rules.name_retry_max)
            ),
            quota ? "behaviour 2.8" : "behaviour 1.8"
        );
        return;
    }
    const auto retry = first_retry(s);
    if (retry) {
        const bool quota = says(s.after.reason, reason::quota_exceeded);
        say_at(
            s,
            *retry,
            "the operator tries again what the server refused",
            quota ? "behaviour 2.8" : "behaviour 1.8"
        );
    }
    const auto& wake = s.decisions.back().wake_up;
    const auto& next = s.after.next_transition;
    // A transition is rounded up to the second that its wake-up lies in.
    if (!wake || (next && *wake + seconds(1) > next->time) || (retry && *wake >= *retry)) {
        return;
    }
    if (says(s.after.reason, reason::waiting_for_pod_group)) {
        say_at(
            s,
            *wake,
            "at the latest the operator checks again whether the API server serves the kind of the "
            "gang",
            "behaviour 8.4"
        );
    } else {
        say_at(s, *wake, "the operator looks at the job again", {});
    }
}

void say_end(story& s) {
    const job_spec* spec = s.spec();
    if (!is_final(s.after.phase) || spec == nullptr || spec->policy.ttl_seconds_after_finished) {
        return;
    }
    s.say(
        next_section,
        "The job and what its clean-up policy keeps stay until somebody deletes it: "
        "ttlSecondsAfterFinished is not set",
        "behaviour 5.14"
    );
}

}  // namespace

void say_next(story& s) {
    const std::size_t before = s.out.size();
    say_transition(s);
    say_deadline(s);
    say_stall(s);
    say_retry(s);
    say_end(s);
    if (s.out.size() == before) {
        s.say(next_section, "Nothing by the clock: the operator acts when something changes");
    }
}

}  // namespace signalbox::core::explaining
