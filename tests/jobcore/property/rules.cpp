// SPDX-License-Identifier: Apache-2.0
#include "property/rules.hpp"

#include "engine/facts/inputs.hpp"
#include "engine/facts/ledger.hpp"
#include "engine/facts/plan_of_attempt.hpp"
#include "engine/facts/pod_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <string_view>
#include <utility>

namespace signalbox::test {

using namespace core;

namespace {

const pod_record* find_pod(const situation& c, std::string_view uid) {
    const auto it = std::ranges::find(c.seen.pods, uid, &pod_record::uid);
    return it == c.seen.pods.end() ? nullptr : *it;
}

const child_record* find_child(const situation& c, std::string_view uid) {
    const auto it = std::ranges::find(c.seen.children, uid, &child_record::uid);
    return it == c.seen.children.end() ? nullptr : *it;
}

bool is_pod(const action& a, verb what) {
    return a.kind == object_kind::pod && a.what() == what;
}

bool is_tensorboard(const situation& c, const action& a) {
    return c.compiled_well() && a.object() && a.object()->object >= c.plan().objects.size();
}

void check_target(const situation& c, const action& a, violations& out) {
    const std::string text =
        fmt::format("{} {} {}", to_string(a.what()), to_string(a.kind), a.name);
    if (a.name.empty() || a.why.empty() || a.rule.empty()) {
        out.push_back("11 an action without name, reason or rule: " + text);
    }
    const bool by_uid = a.what() == verb::patch || a.what() == verb::remove;
    if (by_uid == a.uid().empty()) {
        out.push_back("I5 precondition: " + text);
    }
    if (!by_uid || a.kind == object_kind::job) {
        return;
    }
    std::string_view owner;
    if (a.kind == object_kind::pod) {
        const pod_record* pod = find_pod(c, a.uid());
        owner = pod == nullptr ? "" : std::string_view(pod->owner_uid);
        if (a.what() == verb::remove && pod != nullptr && pod->deletion) {
            out.push_back("I21 a pod that is being deleted is deleted again: " + text);
        }
    } else {
        const child_record* child = find_child(c, a.uid());
        owner = child == nullptr ? "" : std::string_view(child->owner_uid);
    }
    if (owner != c.job.meta.uid) {
        out.push_back("I5 an object that is not ours: " + text);
    }
    if (a.what() == verb::patch && a.body().find(a.uid()) == std::string_view::npos) {
        out.push_back("I5 a patch without the UID in its body: " + text);
    }
}

void check_events(const decision& d, violations& out) {
    for (const event& e : d.events) {
        if (e.reason.empty() || e.message.size() >= 1024) {
            out.push_back("11.2 an event without reason, or too long: " + e.reason);
        }
    }
}

/// What an object that asks for quota is told: also that the job has ended (8.13).
bool gives_back(const action& a) {
    return a.kind->use == kind_use::gang && a.subresource() == "status";
}

/// Actions that belong to a job that goes on.
bool makes_children(const situation& c, const action& a) {
    const bool changes =
        a.what() == verb::create || (a.what() == verb::patch && a.kind != object_kind::pod);
    return changes && !gives_back(a) && !is_tensorboard(c, a) && a.kind != object_kind::job;
}

void check_allowed(const situation& c, const decision& d, const action& a, violations& out) {
    const job_status& next = d.status ? *d.status : c.job.status;
    const bool idle = is_final(next.phase) || next.phase == job_phase::paused;
    if (idle && makes_children(c, a)) {
        out.push_back(fmt::format("I4 {} while the job is {}", a.name, to_string(next.phase)));
    }
    const bool looks = idle && a.what() == verb::confirm;  // for what is left of its pods (1.9)
    const bool ends = is_final(next.phase) && gives_back(a);
    if (!c.compiled_well() && a.what() != verb::remove && !looks && !ends) {
        out.push_back("4.2 the specification is invalid, and yet: " + a.name);
    }
    if (is_pod(a, verb::create) && a.pod()->attempt != next.attempt) {
        out.push_back("5.7 a pod of an attempt that is not on record: " + a.name);
    }
}

void check_wake_up(const situation& c, const decision& d, violations& out) {
    std::optional<instant> held;
    for (const stage& s : d.stages) {
        for (const action& a : s) {
            if (a.not_before && *a.not_before > c.now) {
                held = std::min(held.value_or(*a.not_before), *a.not_before);
            }
        }
    }
    if (held && (!d.wake_up || *d.wake_up > *held)) {
        out.push_back("12.9 a held action without a wake-up in time");
    }
    if (d.wake_up && *d.wake_up <= c.now) {
        out.push_back("12.9 a wake-up that is not in the future");
    }
}

std::int32_t sum(const aggregate_counts& a) {
    return a.creating + a.pending + a.running + a.succeeded + a.failed + a.unknown + a.deleted;
}

bool any_negative(const aggregate_counts& a) {
    return a.creating < 0 || a.pending < 0 || a.running < 0 || a.succeeded < 0 || a.failed < 0 ||
           a.unknown < 0 || a.deleted < 0;
}

void check_sums(const situation& c, const job_status& next, violations& out) {
    if (!next.aggregate) {
        return;
    }
    std::int32_t wanted = 0;
    for (const task_status& t : next.tasks) {
        wanted += t.wanted;
    }
    if (sum(*next.aggregate) != wanted || any_negative(*next.aggregate)) {
        out.push_back(fmt::format("4.15 aggregate sums to {} of {}", sum(*next.aggregate), wanted));
    }
    if (next.ready.substr(next.ready.find('/') + 1) != std::to_string(wanted)) {
        out.push_back("4.15 ready is " + next.ready + " of " + std::to_string(wanted));
    }
    std::size_t shown = 0;
    for (const task_status& t : next.tasks) {
        shown += t.replicas.size();
        if (t.wanted > 0 && t.replicas.empty()) {
            out.push_back("api 5.2 index 0 of " + t.type + " is not shown");
        }
    }
    if (shown > static_cast<std::size_t>(c.rules.replicas_in_status) + next.tasks.size()) {
        out.push_back("4.16 too many replicas shown");
    }
}

void check_conditions(const job_status& before, const job_status& next, violations& out) {
    static constexpr std::string_view order[] = {
        "Initialized", "Running", "ReplicaFailure", "Completed", "Failed", "Succeeded", "Paused"};
    std::ptrdiff_t last = -1;
    for (const condition& now : next.conditions) {
        const std::ptrdiff_t at = std::ranges::find(order, now.type) - std::begin(order);
        if (at <= last) {
            out.push_back("4.13 the order of conditions: " + now.type);
        }
        last = at;
        const condition* old = find_condition(before, now.type);
        if (old != nullptr && old->status == now.status && old->last_transition &&
            old->last_transition != now.last_transition) {
            out.push_back("4.14 lastTransitionTime of " + now.type + " moved without its status");
        }
    }
}

/// A final phase is never left, and nothing that tells of the end changes (4.1).
void check_final(const job_status& before, const job_status& next, violations& out) {
    if (!is_final(before.phase)) {
        return;
    }
    if (next.phase != before.phase || next.reason != before.reason ||
        next.completion_time != before.completion_time || next.conditions != before.conditions) {
        out.push_back("I6 a final phase was changed");
    }
    if (next.attempt != before.attempt || next.backoff_count != before.backoff_count) {
        out.push_back("I6 a finished job counts");
    }
}

bool falls(const std::vector<replaced_index>& before, const std::vector<replaced_index>& next) {
    return std::ranges::any_of(before, [&](const replaced_index& b) {
        return std::ranges::none_of(next, [&](const replaced_index& n) {
            return n.type == b.type && n.index == b.index && n.round >= b.round;
        });
    });
}

void check_counts(
    const situation& c, const job_status& before, const job_status& next, violations& out
) {
    const restart_ledger& a = before.restarts;
    const restart_ledger& b = next.restarts;
    if (next.attempt < before.attempt || next.attempt > before.attempt + 1) {
        out.push_back(fmt::format("5.7 attempt {} to {}", before.attempt, next.attempt));
    }
    if (next.attempt == before.attempt && falls(a.replaced, b.replaced)) {
        out.push_back("5.3 a round fell within an attempt");
    }
    if (next.backoff_count < before.backoff_count || b.disruptions < a.disruptions ||
        b.renames < a.renames || next.observed_generation < before.observed_generation) {
        out.push_back("I7 a count fell");
    }
    const std::int32_t counted = next.backoff_count - before.backoff_count;
    const std::int32_t freed = b.disruptions - a.disruptions;
    if (counted + freed > 1) {
        out.push_back("I7 more than one incident in one look");
    }
    if (counted + freed == 1 && (!b.last || b.last == a.last)) {
        out.push_back("5.3 an incident was counted and not recorded");
    }
    if (counted > 0 && next.backoff_count - b.forgiven > c.backoff_limit) {
        out.push_back(fmt::format("5.5 the budget of {} is exceeded", c.backoff_limit));
    }
    const bool same_attempt = next.attempt == before.attempt;
    for (const typed_indexes& t : a.completed) {
        // Of a smaller size the indexes that leave are forgotten (7.2).
        const task_status* task = engine::find_task(next, t.type);
        const std::int32_t wanted = task == nullptr ? 0 : task->wanted;
        const index_set* now = engine::find_indexes(b.completed, t.type);
        bool kept = true;
        for (std::int32_t i = 0; i < wanted; ++i) {
            kept = kept && (!t.indexes.contains(i) || (now != nullptr && now->contains(i)));
        }
        if (same_attempt && !kept) {
            out.push_back("5.2 a completed replica was forgotten");
        }
    }
}

/// Where the time went adds up to the second, and what is booked stays so (13.1); lists have
/// bounds.
void check_times(
    const situation& c, const job_status& before, const job_status& next, violations& out
) {
    const time_spent& a = before.time;
    const time_spent& b = next.time;
    if (b.since) {
        const instant origin = c.job.meta.creation_time.value_or(*b.since);
        const auto all = std::chrono::floor<seconds>(*b.since - origin).count();
        if (c.job.meta.creation_time && b.total() != all) {
            out.push_back(fmt::format("13.1 {} s are booked of {}", b.total(), all));
        }
        if ((b.in == time_kind::none) != is_final(next.phase)) {
            out.push_back("13.1 the clock of a job that has ended, or none of one that has not");
        }
        if ((b.in == time_kind::paused) != (next.phase == job_phase::paused)) {
            out.push_back("13.1 paused is not Paused");
        }
        if (b.in == time_kind::running && next.phase == job_phase::pending) {
            out.push_back("13.1 a job that is Pending runs");
        }
        if (b.unsaved > b.running) {
            out.push_back("13.1 more is unsaved than ran");
        }
        if (b.recoverable > b.lost) {
            out.push_back("13.1 more may come back than was lost");
        }
        if (b.recoverable > 0 && (b.in == time_kind::running || b.in == time_kind::stalled)) {
            out.push_back("13.1 what was lost may come back though it runs again");
        }
    }
    if (a.since && b.since) {
        const bool falls = b.queued < a.queued || b.starting < a.starting ||
                           b.restarting < a.restarting || b.stalled < a.stalled ||
                           b.paused < a.paused || b.lost < a.lost - a.recoverable ||
                           *b.since < *a.since || b.running + b.lost < a.running + a.lost;
        if (falls) {
            out.push_back("13.1 time that was booked is taken back");
        }
        const auto saved = [](const job_status& s) {
            const progress_status p = s.progress.value_or(progress_status{});
            return std::pair(p.checkpoint_step, p.checkpoint_time);
        };
        if (b.lost < a.lost && saved(next) == saved(before)) {
            out.push_back("13.1 what was lost comes back without a checkpoint");
        }
    }
    if (a.since && !b.since) {
        out.push_back("13.1 the record of the time is lost");
    }
    const auto& attempts = next.attempt_history;
    if (attempts.size() > 10 ||
        !std::ranges::is_sorted(attempts, std::ranges::less(), &attempt_record::attempt)) {
        out.push_back("13.2 attempts beyond ten, or out of order");
    }
    const bool ended = next.attempt != before.attempt && before.attempt > 0;
    if (ended && before.phase != job_phase::paused &&
        (attempts.empty() || attempts.back().attempt != before.attempt)) {
        out.push_back(fmt::format("13.2 nothing tells of attempt {}", before.attempt));
    }
    if (next.avoided.size() > 16) {
        out.push_back("13.6 more nodes are avoided than there is room for");
    }
}

/// What a decision records must be in the status before anything depends on it (BEHAVIOUR.md 12.3).
void check_record_first(
    const decision& d, const job_status& before, const job_status& next, violations& out
) {
    std::string what;
    if (next.attempt != before.attempt) {
        what = "an attempt";
    } else if (next.restarts.replaced != before.restarts.replaced) {
        what = "a round";
    } else if (next.restarts.renames != before.restarts.renames) {
        what = "a rename";
    } else if (next.phase != before.phase && is_final(next.phase)) {
        what = "a final phase";
    } else if (next.phase != before.phase && next.phase == job_phase::paused) {
        what = "a pause";
    } else if (next.backoff_count != before.backoff_count ||
               next.restarts.disruptions != before.restarts.disruptions) {
        what = "an incident";
    }
    if (what.empty()) {
        return;
    }
    for (const stage& s : d.stages) {
        for (const action& a : s) {
            const bool depends = a.kind == object_kind::pod || a.kind == object_kind::config_map ||
                                 a.kind == object_kind::secret || a.kind == object_kind::job;
            if (depends && a.what() != verb::confirm) {
                out.push_back(fmt::format("12.3 {} is recorded with: {}", what, a.name));
                return;
            }
        }
    }
}

/// Success only if the deciding pod's container was seen to end with 0 (5.1).
void check_success(const situation& c, const job_status& next, violations& out) {
    if (!c.compiled_well()) {
        return;
    }
    const auto began = engine::plan_of_attempt(c.plan(), c.job.status);
    const job_plan& plan = began ? *began : c.plan();
    const std::string& container = plan.types[plan.deciding_type].training_container;
    const bool proved = std::ranges::any_of(c.seen.pods, [&](const pod_record* p) {
        const pod_identity id = identity_of(plan, *p);
        const auto end = engine::end_of(*p, container, c.now);
        return p->owner_uid == c.job.meta.uid && id.type == plan.deciding_type && id.index == 0 &&
               p->attempt == next.attempt && end && end->success();
    });
    if (!proved) {
        out.push_back("I6 Succeeded without a deciding pod that exited with 0");
    }
}

std::int64_t min_member_of(const situation& c, const job_status& next, const planned_object& o) {
    const auto wanted = engine::wanted_in_force(next, c.plan());
    const std::string text = preview_object(c.plan(), o, next.attempt, {false, wanted});
    const std::string key = "\"minMember\":";
    return std::stoll(text.substr(text.find(key) + key.size()));
}

/// The group never asks for more than the first stage creates, or it is never placed (8.2).
void check_gang(const situation& c, const job_status& next, violations& out) {
    if (!c.compiled_well() || !c.plan().gang || next.attempt == 0) {
        return;
    }
    std::int64_t created = 0;
    for (const std::size_t type : c.plan().gang->members) {
        created += engine::wanted_in_force(next, c.plan().types[type]);
    }
    for (const planned_object& o : c.plan().objects) {
        if (o.kind == object_kind::pod_group && min_member_of(c, next, o) > created) {
            out.push_back("8.2 the group asks for more pods than are created");
        }
    }
}

void check_text(const situation& c, const job_status& next, violations& out) {
    const std::string text = format_status(next, c.job.meta.kind);
    if (text.size() >= 128U * 1024U) {
        out.push_back(fmt::format("4.16 status of {} bytes", text.size()));
    }
    if (parse_status("{\"status\":" + text + "}") != next) {
        out.push_back("12.3 the status does not survive the way through JSON");
    }
}

void check_transition(const decision& d, const job_status& next, violations& out) {
    if (next.next_transition && (!d.wake_up || *d.wake_up > next.next_transition->time)) {
        out.push_back("12.9 nextTransition without a wake-up: " + next.next_transition->reason);
    }
}

/// Something in the cluster that will be seen when it changes.
bool something_moves(const situation& c) {
    const bool pod_moves = std::ranges::any_of(c.seen.pods, [&](const pod_record* p) {
        return p->owner_uid == c.job.meta.uid && (is_live(*p) || p->deletion);
    });
    return pod_moves || std::ranges::any_of(c.seen.children, &child_record::deleting);
}

/// No one damaged the status: what a decision wrote is what the next one can read.
void check_not_repaired(const decision& d, violations& out) {
    const auto told = std::ranges::find(d.events, "StatusRepaired", &event::reason);
    if (told != d.events.end()) {
        out.push_back("api 5.7 a status that no one damaged is repaired: " + told->message);
    }
}

}  // namespace

pod_identity identity_of(const job_plan& plan, const pod_record& pod) {
    pod_identity id;
    const auto type = std::ranges::find(plan.types, pod.type, &type_plan::name);
    id.type = static_cast<std::size_t>(type - plan.types.begin());
    id.index = pod.index;
    id.attempt = pod.attempt;
    id.round = pod.round;
    return id;
}

bool is_live(const pod_record& pod) {
    return !pod.deletion && pod.phase != pod_phase::succeeded && pod.phase != pod_phase::failed;
}

bool acts(const decision& d, instant now) {
    for (const stage& s : d.stages) {
        const auto held = std::ranges::count_if(s, [&](const action& a) {
            return a.not_before && *a.not_before > now;
        });
        if (static_cast<std::size_t>(held) < s.size()) {
            return true;
        }
        if (held > 0) {
            return false;
        }
    }
    return false;
}

void check_actions(const situation& c, const decision& d, violations& out) {
    for (const stage& s : d.stages) {
        if (s.empty()) {
            out.push_back("decide.hpp an empty stage");
        }
        for (const action& a : s) {
            check_target(c, a, out);
            check_allowed(c, d, a, out);
        }
    }
    check_events(d, out);
    check_wake_up(c, d, out);
}

void check_status(const situation& c, const decision& d, bool reachable, violations& out) {
    const job_status& before = c.job.status;
    const job_status& next = d.status ? *d.status : before;
    if (d.status && *d.status == before) {
        out.push_back("4.16 a status that does not differ is written");
    }
    check_final(before, next, out);
    check_counts(c, before, next, out);
    check_record_first(d, before, next, out);
    if (d.status) {
        check_transition(d, next, out);
        check_sums(c, next, out);
    }
    if (next.phase == job_phase::succeeded && before.phase != job_phase::succeeded) {
        check_success(c, next, out);
    }
    if (reachable) {
        check_not_repaired(d, out);
        check_times(c, before, next, out);
        check_conditions(before, next, out);
        check_gang(c, next, out);
    }
}

void check_status_text(const situation& c, const decision& d, violations& out) {
    check_text(c, d.status ? *d.status : c.job.status, out);
}

void check_rest(const situation& c, const decision& d, violations& out) {
    const job_status& s = c.job.status;
    if (is_final(s.phase) || s.phase == job_phase::paused || d.wake_up || something_moves(c)) {
        return;
    }
    // In a terminating namespace there is nothing left to wait for (2.5).
    if (!c.namespace_dying && c.compiled_well()) {
        out.push_back(
            fmt::format("4.12 nothing will ever wake this job: {} {}", to_string(s.phase), s.reason)
        );
    }
}

}  // namespace signalbox::test
