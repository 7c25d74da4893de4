// SPDX-License-Identifier: Apache-2.0
//
// The pipeline: view, health, the one record of this decision, the work, what is shown. Data flow
// one way; every step takes constant values and gives a new one.
#include "engine/decide.hpp"

#include "engine/facts/admitted_size.hpp"
#include "engine/facts/avoided.hpp"
#include "engine/facts/deferral.hpp"
#include "engine/facts/gang_version.hpp"
#include "engine/facts/ledger.hpp"
#include "engine/facts/plan_of_attempt.hpp"
#include "engine/facts/reporting.hpp"
#include "engine/repair/repair.hpp"
#include "engine/rules/progress.hpp"
#include "engine/rules/rules.hpp"
#include "engine/shown/shown.hpp"
#include "engine/view/quota.hpp"
#include "engine/work/work.hpp"
#include "jobcore/strings.hpp"
#include "status/compare.hpp"

#include <algorithm>
#include <utility>

namespace signalbox::core {
namespace engine {
namespace {

/// What is wanted has changed: the pods have to be matched to it anew.
bool changes_view(const job_status& before, const job_status& after) {
    const restart_ledger& a = before.restarts;
    const restart_ledger& b = after.restarts;
    return before.attempt != after.attempt || a.replaced != b.replaced || a.renamed != b.renamed ||
           a.completed != b.completed || a.given_up != b.given_up ||
           !std::ranges::equal(
               before.tasks, after.tasks, {}, &task_status::wanted, &task_status::wanted
           );
}

/// Which pods of a job that has stopped are accounted for is on record before it is acted on (1.9).
bool accounts_for_pods(const job_status& before, const job_status& after) {
    const bool stopped = is_final(after.phase) || after.phase == job_phase::paused;
    return stopped && before.restarts.seen != after.restarts.seen;
}

/// How long the write may wait, because only counts or only texts differ (4.16). For a small job.
milliseconds interval_of(const policy& policy, const job_status& before, const job_status& after) {
    const auto same_task = [](const task_status& a, const task_status& b) {
        return a.type == b.type && a.wanted == b.wanted && a.restart_count == b.restart_count;
    };
    if (!std::ranges::equal(before.tasks, after.tasks, same_task) ||
        accounts_for_pods(before, after)) {
        return milliseconds(0);
    }
    job_status same = after;
    same.time = before.time;  // it goes with what else is written
    milliseconds slow = policy.texts_interval;
    if (same.progress != before.progress && !is_urgent_progress(before, after)) {
        same.progress = before.progress;
        slow = std::min(slow, policy.progress_interval);
    }
    for (std::size_t i = 0; i < std::min(same.conditions.size(), before.conditions.size()); ++i) {
        same.conditions[i].message = before.conditions[i].message;
    }
    if (same == before) {
        return slow;
    }
    same.tasks = before.tasks;
    same.aggregate = before.aggregate;
    same.replicas = before.replicas;
    same.ready = before.ready;
    same.training = before.training;
    same.restarts.seen = before.restarts.seen;
    same.observed_generation = before.observed_generation;
    return same == before ? policy.counts_interval : milliseconds(0);
}

/// When to decide again: for what the status shows, for what the work awaits, and for actions that
/// are held.
std::optional<instant> earliest(const std::vector<wake_up>& all, const std::vector<stage>& stages) {
    std::optional<instant> first;
    const auto take = [&](instant t) { first = std::min(first.value_or(t), t); };
    for (const wake_up& w : all) {
        take(w.at);
    }
    for (const stage& s : stages) {
        for (const action& a : s) {
            if (a.not_before) {
                take(*a.not_before);
            }
        }
    }
    return first;
}

void append(std::vector<event>& to, std::vector<event> more) {
    std::ranges::move(more, std::back_inserter(to));
}

/// Last, so that a refusal of it delays nothing else.
void add_size(const inputs& in, decision& out) {
    if (auto size = write_size(in, out)) {
        if (size->not_before) {
            out.wake_up = std::min(out.wake_up.value_or(*size->not_before), *size->not_before);
        }
        out.stages.push_back({std::move(*size)});
    }
}

/// What is known of the new status besides itself.
struct settled {
    bool same_tasks = false;
    time_change time;
};

/// The status of the decision, unless it is the one in hand.
void set_status(const inputs& in, job_status&& status, const settled& s, decision& out) {
    const job_status& before = in.job.status;
    const bool same_attempts = status.attempt_history.empty();  // no record has added one
    if (s.same_tasks && same_attempts && equal_but_lists(status, before)) {
        return;
    }
    if (s.same_tasks) {
        status.tasks = before.tasks;
    }
    if (same_attempts) {
        status.attempt_history = before.attempt_history;
    }
    begin_time(in, s.time, status);
    out.defer = deferral(interval_of(in.policy, before, status), in.job.spec_bytes);
    out.status = std::move(status);
}

bool needs_rendering(const std::vector<stage>& stages) {
    return std::ranges::any_of(stages, [](const stage& s) {
        return std::ranges::any_of(s, [](const action& a) { return a.pod() || a.object(); });
    });
}

}  // namespace

decision decide_plan(const inputs& in) {
    const pod_view found = make_view(in, in.job.status);
    job_status noted = note_seen(in, found);
    note_progress(in, noted);
    const context before{in, noted, found};
    const health h = examine(before);
    const open_questions open = find_open_questions(before, h);
    const std::optional<progress_clock> clock = find_progress_clock(before);
    const std::optional<record> recorded = first_record(before, h, open);

    // Moved, since copies of the status of a large job cost: nothing reads `before` from here on.
    job_status status = std::move(noted);
    note_completed(in, status, h);
    note_better_message(in, found, status, h);
    if (recorded) {
        apply(in, status, *recorded);
    }
    const bool changed = changes_view(in.job.status, status);
    // A new attempt goes by the specification again (10.4).
    const bool anew = in.outdated && status.attempt != in.job.status.attempt;
    const inputs later{
        in.job,
        anew ? in.next_plan() : in.plan,
        in.seen,
        in.policy,
        in.now,
        in.invalid,
        in.repaired,
        in.outdated && !anew};
    const pod_view wanted = changed ? make_view(later, status) : pod_view{};
    const context after{later, status, changed ? wanted : found};

    work planned = recorded || in.repaired ? work{} : plan_work(after, h, open);
    const bool stands_still = clock && clock->still && !changed;
    shown display = show(after, {recorded, h, open, planned, stands_still ? &*clock : nullptr});
    if (clock && !clock->still) {
        display.wake_ups.push_back({clock->due, std::nullopt});
    }

    decision out;
    // While an exit settles, what it was is not decided yet.
    const bool goes_on = !recorded || std::holds_alternative<exit_settles>(*recorded);
    out.keeps_logs = open.about_logs && goes_on;
    append(out.events, tell_of_warnings(in));
    append(out.events, recorded ? events_of(after, *recorded) : std::move(planned.events));
    append(out.events, tell_of_edits({in, status, after.view}));
    append(out.events, std::move(display.events));
    const bool active = !is_final(status.phase) && status.phase != job_phase::paused;
    const settled facts{!display.counts.tasks, display.time};
    out.wake_up = earliest(display.wake_ups, planned.stages);
    fill(in, status, std::move(display));
    set_status(in, std::move(status), facts, out);
    out.stages = std::move(planned.stages);
    if (active && !in.invalid && !in.repaired) {
        add_size(in, out);
    }
    if (needs_rendering(out.stages)) {
        const job_status& written = out.status ? *out.status : in.job.status;
        out.rendering = render_options_of(written, in.next_plan());
        out.rendering.avoid = avoided_now(later, written);
        if (in.seen.reports_to != nullptr && attempt_reports(later, written)) {
            out.rendering.reports = *in.seen.reports_to;
        }
        out.rendering.priority = priority_read(later);
    }
    return out;
}

namespace {

decision decide_sound(const inputs& in) {
    if (in.invalid) {
        return decide_invalid(in);
    }
    auto began = plan_of_attempt(in.plan, in.job.status);
    if (!began && starts_otherwise(in)) {
        began = in.plan;
    }
    if (began) {
        return decide_plan(
            {in.job,
             *began,
             in.seen,
             in.policy,
             in.now,
             /*invalid=*/false,
             in.repaired,
             /*outdated=*/true}
        );
    }
    return decide_plan(in);
}

/// A status that cannot be is put right first; nothing is done before that is on record.
decision decide_any(const inputs& in) {
    std::optional<repair> found = find_repair(in);
    if (!found) {
        return decide_sound(in);
    }
    if (changes_plan(*found)) {
        decision out;
        out.events.push_back(tell_of_repair(*found));
        out.status = std::move(found->status);
        return out;
    }
    job_object job = in.job;
    job.status = found->status;
    const job_plan of_record = in.invalid ? plan_from_record(job) : job_plan();
    decision out = decide_sound(
        {job,
         in.invalid ? of_record : in.plan,
         in.seen,
         in.policy,
         in.now,
         in.invalid,
         /*repaired=*/true}
    );
    out.events.insert(out.events.begin(), tell_of_repair(*found));
    if (!out.status) {
        out.status = std::move(found->status);
    }
    out.defer = milliseconds(0);
    return out;
}

}  // namespace
}  // namespace engine

namespace {

/// Pods, nodes and servers are quoted in messages (BEHAVIOUR.md 11.4).
decision in_single_lines(decision made) {
    for (event& e : made.events) {
        e.message = in_one_line(e.message);
    }
    return made;
}

}  // namespace

decision decide(const job_object& job, const observed& seen, const policy& rules, instant now) {
    if (job.meta.deletion_time || !job.compiled) {
        return {};  // children go by owner references (BEHAVIOUR.md 10.1, 2.5)
    }
    const compiled_job& compiled = *job.compiled;
    if (!compiled.managed_by.empty() && compiled.managed_by != managed_by_signalbox) {
        return {};  // BEHAVIOUR.md 2.9
    }
    if (!compiled.plan) {
        const job_plan plan = engine::plan_from_record(job);
        return in_single_lines(engine::decide_any({job, plan, seen, rules, now, /*invalid=*/true}));
    }
    const auto served = engine::plan_of_version(*compiled.plan, seen.served_kinds);
    const job_plan& wanted = served ? *served : *compiled.plan;
    const auto admitted = engine::plan_of_admission(wanted, job.status);
    return in_single_lines(engine::decide_any({job, admitted ? *admitted : wanted, seen, rules, now}
    ));
}

}  // namespace signalbox::core
