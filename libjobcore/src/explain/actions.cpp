// SPDX-License-Identifier: Apache-2.0
//
// What the operator does now: one line per write, in the order in which they are made.
#include "engine/facts/deferral.hpp"
#include "engine/facts/ledger.hpp"
#include "engine/facts/refused_words.hpp"
#include "explain/story.hpp"
#include "explain/words.hpp"

#include <fmt/format.h>

#include <vector>

namespace signalbox::core::explaining {
namespace {

constexpr auto actions_section = explain_section::actions;

void add_change(std::vector<std::string>& list, std::string_view what, auto before, auto after) {
    if (before != after) {
        list.push_back(fmt::format("{} {} -> {}", what, before, after));
    }
}

std::string phase_or_none(job_phase phase) {
    return phase == job_phase::none ? "(none)" : std::string(to_string(phase));
}

std::string reason_or_none(const std::string& reason) {
    return reason.empty() ? "(none)" : reason;
}

/// What of a status matters to a reader.
std::string changes(const job_status& before, const job_status& after) {
    std::vector<std::string> list;
    add_change(list, "phase", phase_or_none(before.phase), phase_or_none(after.phase));
    add_change(list, "reason", reason_or_none(before.reason), reason_or_none(after.reason));
    add_change(list, "attempt", before.attempt, after.attempt);
    add_change(list, "backoffCount", before.backoff_count, after.backoff_count);
    add_change(
        list, "restarts.disruptions", before.restarts.disruptions, after.restarts.disruptions
    );
    if (before.restarts.replaced != after.restarts.replaced) {
        list.emplace_back("the rounds of replaced replicas");
    }
    if (before.restarts.renamed != after.restarts.renamed) {
        list.emplace_back("the new names beside stuck pods");
    }
    if (before.restarts.completed != after.restarts.completed) {
        list.emplace_back("the completed replicas");
    }
    if (before.restarts.given_up != after.restarts.given_up) {
        list.emplace_back("the replicas given up");
    }
    constexpr std::size_t all = 16;
    return list.empty() ? "counts and conditions" : list_of(list, all);
}

/// What of a status that may be written later has changed (BEHAVIOUR.md 4.16).
std::string_view deferred_part(const story& s, const job_status& before, const decision& d) {
    const auto longest = [&](milliseconds interval) {
        return engine::deferral(interval, s.job.spec_bytes);
    };
    if (d.status->observed_generation != before.observed_generation) {
        return "counts, or the generation that is observed,";
    }
    if (d.defer <= longest(s.rules.counts_interval)) {
        return "counts";
    }
    const bool progress = d.status->progress != before.progress;
    return progress && d.defer < longest(s.rules.texts_interval) ? "reports of progress" : "texts";
}

void say_status(story& s, const job_status& before, const decision& d) {
    if (!d.status) {
        return;
    }
    if (d.deferrable()) {
        s.say(
            actions_section,
            fmt::format(
                "Write the status within {}: only {} have changed",
                words_of(d.defer),
                deferred_part(s, before, d)
            ),
            "behaviour 4.16"
        );
        return;
    }
    job_status after = *d.status;
    if (s.refusals_unknown) {
        after.reason = before.reason;
        after.conditions = before.conditions;
        after.told = before.told;
        after.time = before.time;
        if (after == before) {
            return;
        }
    }
    s.say(
        actions_section,
        fmt::format(
            "Write the status{}: {}", d.stages.empty() ? "" : " first", changes(before, after)
        ),
        "behaviour 2.1"
    );
}

std::string verb_text(const story& s, const action& a) {
    const bool is_job = a.kind == object_kind::job;
    const auto kind = is_job ? to_string(s.job.meta.kind) : to_string(a.kind);
    switch (a.what()) {
        case verb::create:
            return fmt::format("create {} {}", kind, a.name);
        case verb::patch:
            return fmt::format("patch {} {}", kind, a.name);
        case verb::remove:
            return fmt::format("delete {} {}", kind, a.name);
        case verb::confirm:
            return fmt::format("ask the API server whether {} {} is really gone", kind, a.name);
        case verb::read:
            return a.kind == object_kind::pod
                       ? fmt::format("read the end of the log of {} {}", kind, a.name)
                       : fmt::format("read {} {}", kind, a.name);
    }
    return {};
}

/// The recorded words name the object that was refused, but for a quota, which holds all pods
/// (BEHAVIOUR.md 2.8).
bool was_refused(const story& s, const action& a) {
    if (!s.refusals_unknown || a.what() != verb::create) {
        return false;
    }
    if (engine::says(s.after.reason, engine::reason::quota_exceeded)) {
        return a.kind == object_kind::pod;
    }
    const condition* running = engine::find_condition(s.after, engine::condition_type::running);
    const auto refused = running == nullptr ? std::nullopt : engine::read_refused(running->message);
    return refused && refused->kind == to_string(a.kind) && refused->name == a.name;
}

void say_action(story& s, const action& a) {
    std::string text = fmt::format("{}: {}", verb_text(s, a), a.why);
    if (a.not_before && *a.not_before > s.now) {
        text += fmt::format("; not before {}", words_of(*a.not_before, s.now));
    } else if (was_refused(s, a)) {
        text += "; the server refused it before, and it is tried again at its time";
    }
    s.say(actions_section, std::move(text), a.rule);
}

}  // namespace

void say_actions(story& s) {
    const job_status* before = &s.job.status;
    for (const decision& d : s.decisions) {
        say_status(s, *before, d);
        for (const stage& actions : d.stages) {
            for (const action& a : actions) {
                say_action(s, a);
            }
        }
        for (const event& e : d.events) {
            s.say(
                actions_section,
                fmt::format(
                    "Send the {} event {}: {}",
                    e.warning ? "Warning" : "Normal",
                    e.reason,
                    quoted_text(e.message)
                ),
                "behaviour 11.1"
            );
        }
        if (d.status) {
            before = &*d.status;
        }
    }
    if (s.decisions.size() == 1 && !s.decisions.front().status &&
        s.decisions.front().stages.empty()) {
        s.say(actions_section, "Nothing: all that can be done now is done", "");
    }
}

}  // namespace signalbox::core::explaining
