// SPDX-License-Identifier: Apache-2.0
//
// What the job is, and why.
#include "engine/facts/ledger.hpp"
#include "explain/story.hpp"
#include "explain/tables.hpp"
#include "explain/words.hpp"
#include "jobcore/account.hpp"

#include <fmt/format.h>

namespace signalbox::core::explaining {
namespace {

using engine::condition_type;

constexpr auto phase_section = explain_section::phase;

std::string phase_text(const job_status& status) {
    std::string text(to_string(status.phase));
    // A phase that is its own reason is said once.
    if (!status.reason.empty() && status.reason != text) {
        text += fmt::format(" ({})", status.reason);
    }
    return text;
}

/// Since when the phase holds, where the record tells.
std::optional<instant> since(const job_status& status) {
    if (is_final(status.phase)) {
        return status.completion_time;
    }
    const condition* paused = engine::find_condition(status, condition_type::paused);
    if (status.phase == job_phase::paused) {
        return paused != nullptr ? paused->last_transition : std::nullopt;
    }
    const condition* running = engine::find_condition(status, condition_type::running);
    const bool is_running = status.phase == job_phase::running;
    return is_running && running != nullptr && running->status ? running->last_transition
                                                               : std::nullopt;
}

/// The words that the operator or the server had for it.
std::string_view message_of(const job_status& status) {
    const condition* c = engine::find_condition(
        status, is_final(status.phase) ? condition_type::completed : condition_type::running
    );
    return c == nullptr ? std::string_view() : std::string_view(c->message);
}

void say_reason(story& s, const job_status& status) {
    if (status.phase == job_phase::running && status.reason.empty()) {
        s.say(
            phase_section,
            fmt::format("ready replicas: {} of those wanted", status.ready),
            "behaviour 4.9"
        );
        return;
    }
    const auto* m = find_meaning(phase_meanings(), std::string_view(status.reason));
    if (m == nullptr) {
        return;
    }
    const std::string said = m->quote ? quoted_text(message_of(status)) : std::string();
    s.say(
        phase_section,
        said.empty() ? std::string(m->text) : fmt::format("{}: {}", m->text, said),
        m->rule
    );
}

void say_title(story& s) {
    const job_status& status = s.job.status;
    if (status.phase == job_phase::none) {
        s.say(
            phase_section,
            fmt::format(
                "{} has no status: the operator has not reconciled it yet. If that lasts, is the "
                "operator running, and does it watch this namespace",
                name_of(s.job.meta)
            )
        );
        return;
    }
    const auto from = since(status);
    s.say(
        phase_section,
        fmt::format(
            "{} is {}{}",
            name_of(s.job.meta),
            phase_text(status),
            from ? fmt::format(" since {}", words_of(*from, s.now)) : std::string()
        )
    );
    say_reason(s, status);
}

/// What is observed now is newer than the status.
void say_change(story& s) {
    const job_status& before = s.job.status;
    if (s.after.phase == before.phase && s.after.reason == before.reason) {
        return;
    }
    s.say(phase_section, fmt::format("By what is observed now it becomes {}", phase_text(s.after)));
    say_reason(s, s.after);
}

void say_failure(story& s) {
    const condition* failure = engine::find_condition(s.after, condition_type::replica_failure);
    if (failure == nullptr || !failure->status || is_final(s.after.phase)) {
        return;
    }
    s.say(
        phase_section,
        fmt::format(
            "Not all replicas are well{}: {}",
            failure->last_transition
                ? fmt::format(", since {}", words_of(*failure->last_transition, s.now))
                : std::string(),
            quoted_text(failure->message)
        ),
        "behaviour 4.13"
    );
}

void say_progress(story& s) {
    const std::string text = progress_in_words(s.after, s.now);
    if (text.empty()) {
        return;
    }
    const auto& p = s.after.progress;
    const bool has_place = p->current_step || p->percentage;
    s.say(
        phase_section,
        fmt::format("Training {}{}", has_place ? "is at " : "has reported: ", text),
        "behaviour 13.7"
    );
    if (p->slowest && p->slowest->behind > 0) {
        s.say(
            phase_section,
            fmt::format(
                "Rank {} is furthest behind, by {}, at step {}",
                p->slowest->rank,
                counted(p->slowest->behind, "step"),
                p->slowest->step
            ),
            "behaviour 13.7"
        );
    }
    if (p->checkpoint_step) {
        s.say(
            phase_section,
            fmt::format(
                "The last checkpoint that was reported is of step {}{}",
                *p->checkpoint_step,
                p->checkpoint_seconds ? fmt::format(", and took {} s", *p->checkpoint_seconds) : ""
            ),
            "behaviour 13.7"
        );
    }
}

}  // namespace

void say_phase(story& s) {
    say_title(s);
    say_change(s);
    say_progress(s);
    say_failure(s);
    if (s.spec() != nullptr && s.spec()->mode.debug && !is_final(s.after.phase)) {
        s.say(
            phase_section,
            "It runs in debug mode: its pods are built as for a real run, but their training "
            "containers idle",
            "behaviour 3.10"
        );
    }
}

}  // namespace signalbox::core::explaining
