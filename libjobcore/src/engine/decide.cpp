// SPDX-License-Identifier: Apache-2.0
//
// The order of the rules. Each rule is a policy of its own file; here stands which comes first.
#include "jobcore/decide.hpp"

#include "engine/elastic.hpp"
#include "engine/invalid.hpp"
#include "engine/ledger.hpp"
#include "engine/losses.hpp"
#include "engine/objects.hpp"
#include "engine/pass.hpp"
#include "engine/restart.hpp"
#include "status/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace signalbox::core {
namespace engine {

milliseconds stuck_after_of(const pass& p) {
    const auto it = p.job.meta.annotations.find("batch.tensorstack.dev/stuck-after");
    if (it == p.job.meta.annotations.end()) {
        return p.rules.stuck_after;
    }
    const std::string& text = it->second;
    std::int32_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    const bool whole = error == std::errc{} && end == text.data() + text.size() && n >= 0;
    return whole ? milliseconds(seconds(n)) : p.rules.stuck_after;
}

std::string cut_message(std::string message, std::size_t limit) {
    if (message.size() > limit) {
        std::size_t end = limit;
        while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xC0U) == 0x80U) {
            --end;
        }
        message.resize(end);
    }
    return message;
}

namespace {

/// Indexes whose pod of the recorded attempt and round is there: `restarts.seen`
/// (BEHAVIOUR.md 5.3).
void note_seen(pass& p) {
    for_each_slot(p, [&](std::size_t role, std::int32_t index, slot& s) {
        if (s.current != nullptr && !s.seen) {
            s.seen = true;
            insert_index(p.next.restarts.seen, p.plan.roles[role].type, index);
        }
    });
}

/// A failed peer outranks pod 0's success under torchrun (5.1).
bool success_stands(const pass& p, const look& l) {
    if (!l.master_end || !l.master_end->success()) {
        return false;
    }
    return !p.plan.torchrun || p.spec.policy.failure == failure_policy::master ||
           std::ranges::none_of(l.losses, [](const loss& x) { return !x.disrupted; });
}

void confirm_missing(pass& p, const look& l) {
    stage reads;
    for (const auto& [role, index] : l.unconfirmed) {
        action a;
        a.what = verb::confirm;
        a.kind = object_kind::pod;
        a.name = p.name_of(role, index);
        a.pod = {role, index, p.next.attempt, 0, 0};
        a.why = "a pod that was seen is missing";
        a.rule = "behaviour 5.3";
        reads.push_back(std::move(a));
    }
    p.add_stage(std::move(reads));
}

/// The first write: the job is accepted (11.1), and what the user should know of its specification.
void greet(pass& p) {
    if (p.job.status.phase != job_phase::none) {
        return;
    }
    p.normal(event_reason::created, "The job was accepted");
    std::vector<std::pair<std::string, std::string>> texts;
    for (const diagnostic& d : p.job.compiled->findings) {
        if (d.level != severity::warning) {
            continue;
        }
        auto it = std::ranges::find(texts, d.reason, &std::pair<std::string, std::string>::first);
        if (it == texts.end()) {
            it = texts.insert(texts.end(), {d.reason, ""});
        }
        it->second += fmt::format("{}{}: {}", it->second.empty() ? "" : "; ", d.pointer, d.message);
    }
    for (auto& [why, text] : texts) {
        p.warning(why, cut_message(std::move(text)));
    }
}

void fail_without_restart(pass& p, const look& l, const verdict& v) {
    const loss& lead = v.decisive == nullptr ? l.losses.front() : *v.decisive;
    p.failure_message = lead.message;
    p.warning(reason::replica_failed, cut_message(lead.message));
    finish(p, job_phase::failed, v.reason, lead.message);
}

/// Whether the job may go on without these replicas (5.10).
bool can_do_without(const pass& p, const look& l, const verdict& v) {
    const bool master_lost =
        std::ranges::any_of(l.losses, [&](const loss& x) { return p.is_master(x.role, x.index); });
    if (master_lost || v.reason == reason::pod_rejected) {
        return false;
    }
    return p.spec.policy.failure == failure_policy::master ||
           (p.plan.elastic && replicas_remaining(p, l.losses) >= p.plan.elastic->min_replicas);
}

/// An incident that may not be restarted (4.6, 5.10).
void end_or_give_up(pass& p, const look& l, const verdict& v) {
    if (!can_do_without(p, l, v)) {
        fail_without_restart(p, l, v);
        return;
    }
    give_up(p, l.losses);
}

/// What is lost has consequences. True if they were recorded.
bool answer_losses(pass& p, const look& l) {
    if (l.losses.empty()) {
        return false;
    }
    const verdict v = judge(p, l.losses, l.master_end.has_value());
    if (v.restartable) {
        record_incident(p, l.losses, v);
    } else {
        end_or_give_up(p, l, v);
    }
    return true;
}

/// `Always` replicas that exited 0. True if something was recorded.
bool repeat_always(pass& p, const look& l) {
    if (l.always.empty()) {
        return false;
    }
    const auto before = p.next.restarts.replaced;
    replace_always(p, l);
    return p.next.restarts.replaced != before;
}

/// Nothing can be made in a namespace that is being deleted (2.5). What is asked for stays asked
/// for, so that the refusal stays known.
void heed_dying_namespace(pass& p) {
    for (const refusal& r : p.seen.refusals) {
        if (!r.namespace_terminating) {
            continue;
        }
        const instant next = next_try(p, r);
        p.creations_held = std::max(p.creations_held.value_or(next), next);
        p.wait_for(reason::object_refused, "the namespace is being deleted");
    }
}

/// Runs a job that is neither ended nor paused. What is recorded acts in the next pass
/// (BEHAVIOUR.md 12.3): each step that records ends this one.
void keep_going(pass& p, const look& l) {
    if (p.next.attempt == 0) {
        raise_attempt(p.next, p.plan);
        return;
    }
    if (p.frozen || settles(p, l)) {
        return;
    }
    if (p.plan.scope == scope_rule::no_restart && !l.unconfirmed.empty()) {
        confirm_missing(p, l);  // whether the launcher is gone decides what a lost worker means
        return;
    }
    if (answer_losses(p, l) || check_secret(p) || repeat_always(p, l) || resize(p) ||
        replace_left_overs(p)) {
        return;
    }
    confirm_missing(p, l);
    heed_dying_namespace(p);
    create_missing(p);
    keep_tensorboard(p);
    remove_old_config_maps(p);
}

void run_job(pass& p) {
    greet(p);
    const bool was_paused = p.job.status.phase == job_phase::paused;
    const look l = take_look(p, was_paused);
    if (success_stands(p, l)) {
        finish(p, job_phase::succeeded, reason::succeeded, "The deciding replica exited with 0");
        return;
    }
    const bool master_failed = l.master_end && !l.master_end->success();
    if (master_failed && !p.frozen) {
        const verdict v = judge(p, l.losses, false);
        if (!v.restartable) {
            fail_without_restart(p, l, v);
            return;
        }
    }
    if (p.spec.mode.pause) {
        pause(p);
    } else if (was_paused) {
        if (!p.frozen) {
            resume(p);
        }
    } else if (deadline_passed(p)) {
        finish(
            p,
            job_phase::failed,
            reason::deadline_exceeded,
            fmt::format(
                "the job did not end within {} s of its start",
                p.spec.policy.active_deadline_seconds.value_or(0)
            )
        );
    } else {
        keep_going(p, l);
    }
}

/// Only counts differ: the write may wait (4.16).
bool is_deferrable(const job_status& before, const job_status& after) {
    if (before.tasks.size() != after.tasks.size()) {
        return false;
    }
    for (std::size_t i = 0; i < before.tasks.size(); ++i) {
        const task_status& a = before.tasks[i];
        const task_status& b = after.tasks[i];
        if (a.type != b.type || a.wanted != b.wanted || a.restart_count != b.restart_count) {
            return false;
        }
    }
    job_status same = after;
    same.tasks = before.tasks;
    same.aggregate = before.aggregate;
    same.replicas = before.replicas;
    same.ready = before.ready;
    same.restarts.seen = before.restarts.seen;
    return same == before;
}

void close(pass& p, bool same_tasks) {
    const bool active = !is_final(p.next.phase) && p.next.phase != job_phase::paused;
    p.next.observed_generation = p.job.meta.generation;
    if (!same_tasks || !equal_but_tasks(p.next, p.job.status)) {
        if (same_tasks) {
            p.next.tasks = p.job.status.tasks;
        }
        p.out.deferrable = is_deferrable(p.job.status, p.next);
        p.out.status = std::move(p.next);
    }
    // A write of the status would make this one stale.
    if (active && !p.frozen && (!p.out.status || p.out.deferrable)) {
        write_default_size(p);
    }
}

/// An edit that got past the rules starts nothing, but is told (10.2).
void tell_of_edits(pass& p) {
    if (p.job.status.observed_generation == 0 || p.next.attempt == 0 ||
        p.job.status.observed_generation == p.job.meta.generation ||
        p.job.status.phase == job_phase::paused) {
        return;
    }
    // Sizes are on record; for the rest the specification before is needed, which a fresh process
    // does not have.
    const bool resized = !p.plan.elastic && wanted_in_force(p.job.status, p.plan) !=
                                                wanted_in_force(job_status{}, p.plan);
    if (resized || p.job.compiled->forbidden_edit) {
        p.warning(
            event_reason::spec_changed,
            "The specification was changed while the job was not paused: running pods stay as "
            "they are, later pods follow the new specification"
        );
    }
}

}  // namespace

decision decide_valid(
    const job_object& job,
    const job_spec& spec,
    const job_plan& plan,
    const observed& seen,
    const policy& rules,
    instant now,
    bool frozen
) {
    pass p{job, spec, plan, seen, rules, now, frozen};
    p.next = without_replicas(job.status);
    p.next.next_transition.reset();
    p.view = make_view(plan, job.status, seen, stuck_after_of(p), now);
    note_seen(p);
    if (is_final(job.status.phase)) {
        clean_up(p);
    } else {
        run_job(p);
        tell_of_edits(p);
        const bool structure_changed =
            p.next.attempt != job.status.attempt ||
            p.next.restarts.replaced != job.status.restarts.replaced ||
            wanted_in_force(p.next, plan) != wanted_in_force(job.status, plan);
        if (structure_changed) {
            p.view = make_view(plan, p.next, seen, stuck_after_of(p), now);
        }
        if (!is_final(p.next.phase)) {
            if (p.next.phase != job_phase::paused) {
                set_phase(p);
            }
            set_conditions(p);
        }
    }
    const bool same_tasks = set_counts(p);
    mirror_tensorboard(p);
    close(p, same_tasks);
    return std::move(p.out);
}

}  // namespace engine

decision decide(const job_object& job, const observed& seen, const policy& rules, instant now) {
    if (job.meta.deletion_time || !job.compiled) {
        return {};  // children go by owner references (BEHAVIOUR.md 10.1, 2.5)
    }
    const compiled_job& compiled = *job.compiled;
    if (!compiled.managed_by.empty() && compiled.managed_by != managed_by_signalbox) {
        return {};  // BEHAVIOUR.md 2.9
    }
    if (!compiled.spec || !compiled.plan) {
        return engine::decide_invalid(job, seen, rules, now);
    }
    return engine::decide_valid(job, *compiled.spec, *compiled.plan, seen, rules, now, false);
}

std::string_view to_string(verb v) {
    switch (v) {
        case verb::create:
            return "create";
        case verb::patch:
            return "patch";
        case verb::remove:
            return "delete";
        case verb::confirm:
            return "confirm";
    }
    return "";
}

std::string render_action(const job_object& job, const action& a) {
    if (!job.compiled || !job.compiled->plan) {
        return {};
    }
    const job_plan& plan = *job.compiled->plan;
    const auto wanted = engine::wanted_in_force(job.status, plan);
    const render_options options{engine::is_resumed(job.status), wanted};
    if (a.kind == object_kind::pod) {
        return render_pod(plan, a.pod, options);
    }
    const planned_object* object = find_object(plan, a.object);
    return object == nullptr ? std::string{} : render_object(plan, *object, a.pod.attempt, options);
}

}  // namespace signalbox::core
