// SPDX-License-Identifier: Apache-2.0
//
// Which sections a job has: most of them, or one sentence for a job that is left alone.
#include "jobcore/explain.hpp"

#include "engine/facts/plan_of_attempt.hpp"
#include "engine/facts/reasons.hpp"
#include "explain/story.hpp"
#include "explain/words.hpp"
#include "jobcore/strings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace signalbox::core {
namespace explaining {
namespace {

/// Reasons that only a refusal in the input can give (BEHAVIOUR.md 1.8, 2.8).
constexpr std::array refused_reasons{
    engine::reason::name_conflict,
    engine::reason::object_refused,
    engine::reason::quota_exceeded,
};

bool is_by_refusal(std::string_view text) {
    return std::ranges::any_of(refused_reasons, [&](engine::reason r) {
        return engine::says(text, r);
    });
}

/// Without the refusal a decision would call it something else; what was recorded stands.
void keep_refusal(story& s) {
    const job_status& before = s.job.status;
    s.refusals_unknown = s.seen.refusals.empty() && !is_final(s.after.phase) &&
                         s.after.phase == before.phase && is_by_refusal(before.reason);
    if (s.refusals_unknown) {
        s.after.reason = before.reason;
        s.after.conditions = before.conditions;
        s.after.told = before.told;
        s.after.time = before.time;
    }
}

void examine_pods(story& s) {
    if (s.plan() == nullptr) {
        return;
    }
    s.began = engine::plan_of_attempt(*s.plan(), s.after);
    const milliseconds stuck = engine::stuck_after(s.job.meta, s.rules);
    s.view = engine::make_view(*s.plan(), s.after, s.seen, stuck, s.now);
}

/// A job of another controller, or one that is being deleted. True if nothing else is to be said.
bool say_left_alone(story& s) {
    const job_meta& meta = s.job.meta;
    const bool compiled = s.job.compiled != nullptr;
    const std::string& other = compiled ? s.job.compiled->managed_by : std::string();
    if (!other.empty() && other != managed_by_signalbox) {
        s.say(
            explain_section::phase,
            fmt::format(
                "{} is run by the controller `{}` (spec.managedBy), and this operator leaves it "
                "alone: its status and its pods are that controller's",
                name_of(meta),
                quoted_text(other)
            ),
            "behaviour 2.9"
        );
        return true;
    }
    if (!meta.deletion_time) {
        return false;
    }
    say_deletion(s);
    return true;
}

}  // namespace

void story::say(explain_section where, std::string text, std::string_view rule) {
    // Whatever of others' texts is in it (BEHAVIOUR.md 11.4).
    out.push_back({where, printable(sentence(std::move(text))) + ".", rule});
}

std::string name_of(const job_meta& meta) {
    return fmt::format("{} {}/{}", to_string(meta.kind), meta.ns, meta.name);
}

void decide_all(story& s) {
    // Recording a loss, an attempt, a rename: no chain of records is longer.
    constexpr int most_records = 4;
    job_object job = s.job;
    for (int i = 0; i < most_records; ++i) {
        decision d = decide(job, s.seen, s.rules, s.now);
        const bool recorded = d.status && !d.deferrable() && d.stages.empty();
        const bool idle = !d.status && d.stages.empty() && !s.decisions.empty();
        if (d.status) {
            job.status = *d.status;
        }
        if (!idle) {
            s.decisions.push_back(std::move(d));
        }
        if (!recorded) {
            break;
        }
    }
    s.after = std::move(job.status);
}

}  // namespace explaining

std::string_view to_string(explain_section section) {
    constexpr std::array<std::string_view, 6> names{
        "phase", "awaited", "next", "actions", "history", "specification"};
    return names.at(static_cast<std::size_t>(section));
}

std::string_view title(explain_section section) {
    constexpr std::array<std::string_view, 6> titles{
        "What it is, and why",
        "What is awaited",
        "What happens next, and when",
        "What the operator does now",
        "What happened before",
        "What is to be said of the specification"};
    return titles.at(static_cast<std::size_t>(section));
}

std::vector<explain_line> explain(
    const job_object& job, const observed& seen, const policy& rules, instant now
) {
    explaining::story s{job, seen, rules, now};
    if (!explaining::say_left_alone(s)) {
        explaining::decide_all(s);
        explaining::keep_refusal(s);
        explaining::examine_pods(s);
        explaining::say_phase(s);
        explaining::say_awaited(s);
        explaining::say_next(s);
        explaining::say_actions(s);
        explaining::say_history(s);
        explaining::say_specification(s);
    }
    return std::move(s.out);
}

}  // namespace signalbox::core
