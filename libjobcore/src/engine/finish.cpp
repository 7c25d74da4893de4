// SPDX-License-Identifier: Apache-2.0
//
// The end of a job: deadline, final phase, clean-up, time to live (BEHAVIOUR.md 5.12-5.14).
#include "engine/objects.hpp"
#include "engine/pass.hpp"
#include "engine/pod_facts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::core::engine {
namespace {

/// `1h2m3s`, as kubectl prints durations.
std::string format_duration(seconds s) {
    const auto total = std::max<std::int64_t>(s.count(), 0);
    const auto hours = total / 3600;
    const auto minutes = total / 60 % 60;
    if (hours > 0) {
        return fmt::format("{}h{}m{}s", hours, minutes, total % 60);
    }
    return minutes > 0 ? fmt::format("{}m{}s", minutes, total % 60) : fmt::format("{}s", total);
}

bool has_ended(const pass& p, const pod_record& pod) {
    std::string_view container;
    for (const role_plan& role : p.plan.roles) {
        if (role.type == pod.type) {
            container = role.training_container;
        }
    }
    return end_of(pod, container, p.now).has_value();
}

/// After a torchrun success peers get the time of the exit barrier (5.1). True while that runs.
bool barrier_runs(pass& p) {
    if (!p.plan.torchrun || p.next.phase != job_phase::succeeded || !p.next.completion_time) {
        return false;
    }
    const bool all_ended = std::ranges::all_of(p.seen.pods, [&](const pod_record* pod) {
        return pod->owner_uid != p.plan.job_uid || pod->attempt != p.next.attempt ||
               pod->deletion || has_ended(p, *pod);
    });
    const instant until = *p.next.completion_time + p.rules.exit_barrier;
    if (all_ended || p.now >= until) {
        return false;
    }
    p.await(until, awaited::clean_up);
    return true;
}

/// Kinds that restart nothing have `cleanUpWorkers`: the launcher stays for its log, unless it may
/// wait for ever for workers that are lost (5.11, 5.13).
std::string_view why_removed_by_role(const pass& p, const pod_record& pod) {
    if (pod.type == p.plan.roles[p.plan.master_role].type) {
        return p.next.reason == reason::replica_lost
                   ? "the launcher may wait for ever for a lost replica"
                   : "";
    }
    return p.spec.policy.clean_up_workers ? "the job has ended, cleanUpWorkers true" : "";
}

/// Why a pod of a finished job goes, or an empty text if it stays.
std::string_view why_removed(const pass& p, const pod_record& pod, bool barrier) {
    const bool ended = has_ended(p, pod);
    if (pod.attempt != p.next.attempt && !ended) {
        return "the pod is of an older attempt";
    }
    if (barrier) {
        return {};
    }
    if (p.next.reason == reason::deadline_exceeded && !ended) {
        return "the deadline has passed";
    }
    if (p.plan.scope == scope_rule::no_restart) {
        return why_removed_by_role(p, pod);
    }
    const bool unfinished = pod.phase != pod_phase::succeeded && pod.phase != pod_phase::failed;
    switch (p.spec.policy.clean_up) {
        case clean_up_policy::all:
            return "the job has ended, cleanUpPolicy All";
        case clean_up_policy::unfinished:
            return unfinished ? "the job has ended, cleanUpPolicy Unfinished" : "";
        case clean_up_policy::none:
            return {};
    }
    return {};
}

void remove_pods(pass& p, bool barrier) {
    stage pods;
    for (const pod_record* pod : p.seen.pods) {
        if (pod->owner_uid != p.plan.job_uid || pod->deletion) {
            continue;
        }
        const std::string_view why = why_removed(p, *pod, barrier);
        if (!why.empty()) {
            pods.push_back(remove_pod(*pod, std::string(why), "behaviour 5.13"));
        }
    }
    std::ranges::sort(pods, {}, &action::name);
    p.add_stage(std::move(pods));
}

/// Pods that run sshd end by nobody's doing but a deletion (5.13).
bool leaves_workers_running(pass& p) {
    const bool kept = p.plan.scope == scope_rule::no_restart
                          ? !p.spec.policy.clean_up_workers
                          : p.spec.policy.clean_up == clean_up_policy::none;
    bool running = false;
    for_each_slot(p, [&](std::size_t role, std::int32_t index, const slot& s) {
        running = running || (index >= p.plan.roles[role].sshd_from_index && s.current != nullptr &&
                              !s.current->deletion && !has_ended(p, *s.current));
    });
    return kept && running && p.next.reason != reason::deadline_exceeded;
}

/// PodGroup, Services, ConfigMaps; the Secret when no pod is left (5.13).
void remove_objects(pass& p) {
    stage objects;
    for (const child_record* c : p.seen.children) {
        const bool kept = is_of_tensorboard(p.plan, *c) ||
                          (c->kind == object_kind::secret && !p.seen.pods.empty());
        if (kept || c->deleting || c->owner_uid != p.plan.job_uid) {
            continue;
        }
        objects.push_back(remove_child(*c, "the job has ended", "behaviour 5.13"));
    }
    if (objects.empty()) {
        return;
    }
    std::ranges::sort(objects, {}, [](const action& a) { return std::pair(a.kind, a.name); });
    p.normal(event_reason::cleaned_up, "The job's objects are removed as its policy says");
    p.add_stage(std::move(objects));
}

void expire(pass& p) {
    const auto ttl = p.spec.policy.ttl_seconds_after_finished;
    if (!ttl || !p.next.completion_time || p.frozen) {
        return;
    }
    const instant due = *p.next.completion_time + seconds(*ttl);
    if (p.now < due) {
        const auto& told = p.job.status.next_transition;
        if (*p.next.completion_time > p.now && (!told || told->reason != awaited::ttl)) {
            p.warning(
                event_reason::cleaned_up,
                "The completion time lies in the future; the time to live counts from it"
            );
        }
        p.await(due, awaited::ttl);
        return;
    }
    action a;
    a.what = verb::remove;
    a.kind = object_kind::job;
    a.name = p.plan.job_name;
    a.uid = p.plan.job_uid;
    a.foreground = true;
    a.why = "the job's time to live after its end has passed";
    a.rule = "behaviour 5.14";
    p.out.stages.clear();  // the deletion takes the children along
    p.add_stage({std::move(a)});
}

}  // namespace

bool deadline_passed(pass& p) {
    const auto limit = p.spec.policy.active_deadline_seconds;
    if (!limit || !p.next.start_time) {
        return false;
    }
    // Compared by subtraction: a huge limit must not overflow the sum.
    const auto run = std::chrono::duration_cast<seconds>(
        p.now - *p.next.start_time >= milliseconds(0) ? p.now - *p.next.start_time : milliseconds(0)
    );
    if (run.count() >= *limit && p.now >= *p.next.start_time) {
        return true;
    }
    constexpr std::int64_t far = 100LL * 365 * 24 * 3600;
    if (*limit < far) {
        p.await(*p.next.start_time + seconds(*limit), awaited::deadline);
    }
    return false;
}

void finish(pass& p, job_phase phase, std::string_view why, std::string message) {
    const bool success = phase == job_phase::succeeded;
    p.next.phase = phase;
    p.next.reason = why;
    p.next.completion_time = round_down_to_second(p.now);
    if (p.next.start_time) {
        p.next.duration = format_duration(std::chrono::floor<seconds>(
            std::max(*p.next.completion_time - *p.next.start_time, milliseconds(0))
        ));
    }
    const std::string_view end = success ? reason::succeeded : reason::failed;
    const condition* initialized = find_condition(p.next, condition_type::initialized);
    if (initialized == nullptr || !initialized->status) {
        set_condition(p, condition_type::initialized, false, reason::not_finished, "");
    }
    set_condition(p, condition_type::running, false, end, message);
    set_condition(
        p,
        condition_type::replica_failure,
        !p.failure_message.empty(),
        p.failure_message.empty() ? reason::no_failure : reason::replica_failed,
        p.failure_message
    );
    set_condition(p, condition_type::completed, true, end, message);
    set_condition(p, condition_type::failed, !success, success ? reason::succeeded : why, message);
    if (is_resumed(p.next)) {
        set_condition(p, condition_type::paused, false, end, "");
    }
    if (leaves_workers_running(p)) {
        p.warning(
            event_reason::workers_left_running,
            "The workers run sshd and stay until the job is deleted, as its clean-up policy says"
        );
    }
    if (success) {
        p.normal(reason::succeeded, cut_message(message));
    } else {
        p.warning(reason::failed, cut_message(fmt::format("{}: {}", why, message)));
    }
}

void clean_up(pass& p) {
    const bool barrier = barrier_runs(p);
    remove_pods(p, barrier);
    if (!barrier) {
        remove_objects(p);
    }
    expire(p);
}

}  // namespace signalbox::core::engine
