// SPDX-License-Identifier: Apache-2.0
//
// What happened before, and what is left of the budget.
#include "engine/facts/pod_facts.hpp"
#include "explain/story.hpp"
#include "explain/tables.hpp"
#include "explain/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

namespace signalbox::core::explaining {
namespace {

constexpr auto history_section = explain_section::history;

std::string pod_text(const incident_pod& pod) {
    std::string facts;
    if (pod.exit_code) {
        facts = fmt::format("exit code {}", *pod.exit_code);
    }
    if (engine::is_telling(pod.reason)) {
        facts += facts.empty() ? pod.reason : ", " + pod.reason;
    }
    return facts.empty() ? pod.name : fmt::format("{} ({})", pod.name, facts);
}

std::string pods_text(const incident_record& last) {
    std::vector<std::string> names;
    std::ranges::transform(last.pods, std::back_inserter(names), pod_text);
    std::string text = list_of(names, names.size());
    return last.more == 0 ? text : fmt::format("{} and {} more", text, last.more);
}

std::string consequence(const incident_record& last, std::int32_t attempt) {
    std::string text = last.counted ? "it counted against backoffLimit" : "it did not count";
    if (!last.rule.empty()) {
        text += fmt::format(" (rule {})", last.rule);
    }
    if (last.scope == restart_scope::replica) {
        return text + ", and only what was lost was replaced";
    }
    return text + fmt::format(
                      ", and all pods {} made anew as attempt {}",
                      last.attempt == attempt ? "are" : "were",
                      last.attempt
                  );
}

void say_incident(story& s, const std::optional<incident_record>& last, std::string_view follows) {
    if (!last || last->cause.empty()) {
        return;
    }
    const auto* m = find_meaning(cause_meanings(), std::string_view(last->cause));
    const std::string pods = pods_text(*last);
    s.say(
        history_section,
        fmt::format(
            "{}{}{}{}; {}",
            last->time ? fmt::format("At {} ", words_of(*last->time, s.now)) : std::string(),
            pods,
            pods.empty() ? "" : " ",
            m == nullptr ? "was lost" : m->text,
            follows.empty() ? consequence(*last, s.after.attempt) : std::string(follows)
        ),
        m == nullptr ? "behaviour 5.3" : m->rule
    );
    if (!last->message.empty()) {
        s.say(
            history_section,
            fmt::format(
                "{}: {}",
                last->consequence ? "What was first is not known; it followed from another end"
                                  : "The cause",
                quoted_text(last->message)
            ),
            "behaviour 3.13"
        );
    }
}

/// How far the next failure would reach (BEHAVIOUR.md 5.6).
std::string reach(const story& s) {
    const job_plan& plan = *s.plan();
    const auto& scope = s.spec()->policy.scope;
    if (scope) {
        return *scope == restart_scope::job ? "all pods" : "the failed pod alone";
    }
    if (plan.scope == scope_rule::whole_job) {
        return "all pods";
    }
    return plan.scope == scope_rule::c10d
               ? "the failed pod alone, but all pods if it is pod 0 or if more than one exits"
               : "the failed pod alone, but all pods if more than one exits";
}

/// What a failure does that may not be restarted (BEHAVIOUR.md 5.10).
std::string after_last_restart(const story& s) {
    if (s.spec()->policy.failure == failure_policy::master) {
        return "; the next failure of the deciding pod ends the job, another replica that fails is "
               "given up";
    }
    return s.plan()->elastic && s.plan()->elastic->survives_loss
               ? "; the next failure of the deciding pod ends the job, another replica that fails "
                 "is "
                 "given up while minReplicas are left"
               : "; the next failure that counts ends the job";
}

void say_budget(story& s) {
    const job_status& status = s.after;
    if (!restarts(s.job.meta.kind)) {
        if (!is_final(status.phase)) {
            s.say(
                history_section,
                "A job of this kind is never restarted after a failure",
                "behaviour 5.11"
            );
        }
        return;
    }
    if (s.spec() == nullptr) {
        return;
    }
    const std::int32_t limit = s.spec()->policy.backoff_limit;
    const std::int32_t used = std::max(status.backoff_count - status.restarts.forgiven, 0);
    const std::int32_t left = std::max(limit - used, 0);
    std::string text = fmt::format(
        "{} of {} counted, {} left (spec.runPolicy.backoffLimit)",
        used,
        counted(limit, "restart"),
        left
    );
    if (status.restarts.forgiven > 0) {
        text += fmt::format(
            "; {} more before, which a long run gave back "
            "(spec.runPolicy.resetBackoffAfterSeconds)",
            status.restarts.forgiven
        );
    }
    if (!is_final(status.phase) && s.plan() != nullptr) {
        text += left == 0 ? after_last_restart(s)
                          : fmt::format("; the next failure that counts restarts {}", reach(s));
    }
    s.say(history_section, std::move(text), "behaviour 5.5");
}

void say_policies(story& s) {
    if (s.plan() == nullptr || !restarts(s.job.meta.kind) || is_final(s.after.phase)) {
        return;
    }
    for (const type_plan& type : s.plan()->types) {
        if (type.restart == restart_policy::never) {
            s.say(
                history_section,
                fmt::format("A failed {} is not restarted: its restartPolicy is Never", type.name),
                "behaviour 5.5"
            );
        } else if (type.restart == restart_policy::exit_code) {
            s.say(
                history_section,
                fmt::format(
                    "A failed {} is restarted only if its exit code is that of a kill: its "
                    "restartPolicy is ExitCode",
                    type.name
                ),
                "behaviour 5.5"
            );
        }
    }
}

void say_indexes(
    story& s, const std::vector<typed_indexes>& list, std::string_view what, std::string_view rule
) {
    for (const typed_indexes& entry : list) {
        s.say(
            history_section,
            fmt::format("{} {} of this attempt {}", entry.type, entry.indexes.text(), what),
            rule
        );
    }
}

void say_replacements(story& s) {
    const restart_ledger& ledger = s.after.restarts;
    say_indexes(s, ledger.completed, "ended with 0 and need not run again", "behaviour 5.2");
    say_indexes(s, ledger.given_up, "failed for good; the others go on without", "behaviour 5.10");
    if (!ledger.replaced.empty()) {
        std::vector<std::string> names;
        for (const replaced_index& r : ledger.replaced) {
            names.push_back(fmt::format("{} {}", r.type, r.index));
        }
        s.say(
            history_section,
            fmt::format("Replaced alone in this attempt, or taken out: {}", list_of(names)),
            "behaviour 5.7"
        );
    }
    for (const renamed_index& r : ledger.renamed) {
        s.say(
            history_section,
            fmt::format(
                "{} {} runs under a name that ends in -r{}: the pod with its usual name does not "
                "go away",
                r.type,
                r.index,
                r.k
            ),
            "behaviour 1.3"
        );
    }
}

void say_start(story& s) {
    const job_status& status = s.after;
    if (status.attempt == 0) {
        return;
    }
    std::string text = fmt::format("This is attempt {}", status.attempt);
    if (status.start_time) {
        text += fmt::format(", of a job that started at {}", words_of(*status.start_time, s.now));
    }
    if (is_final(status.phase) && !status.duration.empty()) {
        text += fmt::format(" and took {}", status.duration);
    }
    s.say(history_section, std::move(text), "behaviour 5.12");
}

}  // namespace

void say_history(story& s) {
    const std::size_t before = s.out.size();
    say_start(s);
    say_attempts(s);
    say_incident(s, s.after.restarts.last, {});
    say_incident(
        s, s.after.restarts.settling, "what follows is decided when the time to settle is over"
    );
    if (s.after.attempt > 0) {
        say_budget(s);
        say_policies(s);
    }
    if (s.after.restarts.disruptions > 0) {
        s.say(
            history_section,
            fmt::format(
                "{} did not count: pods that were lost from outside, failures that a rule frees, "
                "or workers that were not reached in time",
                counted(s.after.restarts.disruptions, "incident")
            ),
            "behaviour 5.4"
        );
    }
    say_replacements(s);
    if (s.out.size() == before) {
        s.say(history_section, "Nothing: the job has never had a pod");
    }
}

}  // namespace signalbox::core::explaining
