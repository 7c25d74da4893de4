// SPDX-License-Identifier: Apache-2.0
//
// What has to happen outside of the operator before the job goes on.
#include "engine/facts/pod_facts.hpp"
#include "engine/facts/reasons.hpp"
#include "engine/view/ended.hpp"
#include "explain/story.hpp"
#include "explain/tables.hpp"
#include "explain/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace signalbox::core::explaining {
namespace {

using engine::reason;
using engine::says;

constexpr auto awaited_section = explain_section::awaited;

/// What somebody else has to do, where no pod can tell.
constexpr std::array help{
    meaning{
        reason::quota_exceeded,
        "Room in the quota: other pods of the namespace have to end, or the quota has to be raised",
        "behaviour 2.8"},
    meaning{
        reason::name_conflict, "The owner of the other object has to delete it", "behaviour 1.8"},
    meaning{
        reason::object_refused,
        "Whatever made the API server refuse the object has to change: a right, a policy, a quota",
        "behaviour 2.1"},
    meaning{
        reason::invalid_spec,
        "Somebody has to correct the specification; what has to be corrected stands at the end",
        "behaviour 4.2"},
    meaning{
        reason::waiting_for_room,
        "Other jobs of the namespace have to end or to be paused, or the operator's bound "
        "namespace_bytes has to be raised",
        "behaviour 2.12"},
    meaning{
        reason::waiting_for_gang,
        "Its scheduler has to find room for all pods that start together",
        "behaviour 8.5"},
    meaning{
        reason::waiting_for_quota,
        "Kueue has to admit its Workload: `kubectl describe workload` says more",
        "behaviour 8.11"},
    meaning{
        reason::master_unknown,
        "The node has to come back, or its pods have to be deleted; a pod that is deleted from "
        "outside is replaced without counting",
        "behaviour 4.8"},
};

std::span<const meaning<reason>> help_meanings() {
    return help;
}

/// The group that is not served.
void say_scheduler(story& s) {
    const job_plan* plan = s.plan();
    if (!says(s.after.reason, reason::waiting_for_pod_group) || plan == nullptr || !plan->gang ||
        plan->objects.empty()) {
        return;
    }
    const object_kind kind = plan->objects.front().kind;
    s.say(
        awaited_section,
        fmt::format(
            "{} has to be installed in the cluster{}, or spec.scheduler taken out while the job is "
            "paused",
            api_version_of(kind),
            kind == object_kind::pod_group
                ? ""
                : fmt::format(
                      " and the operator started with --scheduler {}", plan->gang->asked.name
                  )
        ),
        "behaviour 8.4"
    );
}

/// The replicas that are not up, by what keeps them.
struct waiting_pods {
    std::vector<std::string> unscheduled;
    const pod_record* unschedulable = nullptr;  ///< the first of them
    std::vector<std::string> starting;
    std::vector<std::string> unready_workers;
    std::int64_t workers = 0;
};

void say_hopeless(story& s, const pod_record& pod, const container_record& c) {
    const std::string said = quoted_text(c.message);
    s.say(
        awaited_section,
        fmt::format(
            "pod {}, container {} cannot start: {}{}. The kubelet goes on trying; once the cause "
            "is removed the pod starts by itself",
            pod.name,
            c.name,
            c.reason.str(),
            said.empty() ? "" : ": " + said
        ),
        "behaviour 4.13"
    );
}

void add_wait_of(story& s, const engine::replica_view& replica, waiting_pods& out) {
    if (replica.current == nullptr || replica.done() || replica.current->deletion) {
        return;
    }
    const pod_record& pod = *replica.current;
    if (replica.is_up() || engine::end_of(pod, replica.training, s.now)) {
        return;
    }
    if (!pod.scheduled) {
        out.unscheduled.push_back(pod.name);
        if (pod.unschedulable && out.unschedulable == nullptr) {
            out.unschedulable = &pod;
        }
    } else if (const container_record* c = engine::hopeless_container(pod)) {
        say_hopeless(s, pod, *c);
    } else {
        out.starting.push_back(pod.name);
    }
}

void count_workers(const story& s, waiting_pods& out) {
    if (s.plan()->pod_stages.size() < 2) {
        return;
    }
    for (const std::size_t r : s.plan()->pod_stages.front()) {
        const auto& replicas = s.view->types[r].replicas;
        out.workers += static_cast<std::int64_t>(replicas.size());
        for (std::size_t i = 0; i < replicas.size(); ++i) {
            const pod_record* pod = replicas[i].current;
            if (pod == nullptr || !pod->ready || pod->deletion) {
                out.unready_workers.push_back(fmt::format("{} {}", s.plan()->types[r].name, i));
            }
        }
    }
}

/// What the scheduler said, or how to find it out.
std::string reason_of(const pod_record& pod) {
    const std::string said = quoted_text(pod.scheduler_message);
    return said.empty() ? fmt::format(" (`kubectl describe pod {}` shows what it lacks)", pod.name)
                        : fmt::format(" for {}: {}", pod.name, said);
}

void say_waiting(story& s, const waiting_pods& w) {
    if (!w.unscheduled.empty()) {
        s.say(
            awaited_section,
            w.unschedulable != nullptr
                ? fmt::format(
                      "A node with room for {}; the scheduler has found none{}",
                      list_of(w.unscheduled),
                      reason_of(*w.unschedulable)
                  )
                : fmt::format(
                      "A node for {}: the scheduler has not decided", list_of(w.unscheduled)
                  ),
            "behaviour 4.12"
        );
    }
    if (!w.starting.empty()) {
        s.say(
            awaited_section,
            fmt::format(
                "The start of {}: images are pulled and init containers run", list_of(w.starting)
            ),
            "behaviour 4.9"
        );
    }
    if (says(s.after.reason, reason::waiting_for_workers)) {
        s.say(
            awaited_section,
            fmt::format(
                "Ready workers: {} of {} are, and not {}",
                w.workers - static_cast<std::int64_t>(w.unready_workers.size()),
                w.workers,
                list_of(w.unready_workers)
            ),
            "behaviour 2.3"
        );
    }
}

void say_terminating(story& s) {
    std::vector<const pod_record*> leaving;
    for (const pod_record* pod : s.seen.pods) {
        if (pod->owner_uid == s.job.meta.uid && pod->deletion && pod->attempt != gone_attempt) {
            leaving.push_back(pod);
        }
    }
    std::ranges::sort(leaving, {}, &pod_record::name);
    constexpr std::size_t most = 6;
    for (std::size_t i = 0; i < leaving.size() && i < most; ++i) {
        const pod_record& pod = *leaving[i];
        const bool late = *pod.deletion < s.now;
        s.say(
            awaited_section,
            fmt::format(
                "The end of pod {}, which is being deleted: its time {} at {}{}",
                pod.name,
                late ? "was up" : "is up",
                words_of(*pod.deletion, s.now),
                late ? "; is its node alive" : ""
            ),
            "behaviour 5.7"
        );
    }
    if (leaving.size() > most) {
        s.say(
            awaited_section,
            fmt::format(
                "The end of {} that are being deleted too",
                counted(static_cast<std::int64_t>(leaving.size() - most), "more pod")
            ),
            "behaviour 5.7"
        );
    }
}

/// What ends a job that runs.
void say_deciding_pod(story& s) {
    const engine::type_view& type = s.view->types[s.plan()->deciding_type];
    const bool runs = !type.replicas.empty() && type.replicas.front().is_up();
    if (s.after.phase != job_phase::running || !runs) {
        return;
    }
    s.say(
        awaited_section,
        fmt::format(
            "The end of pod {}, which decides: the exit code of its container {} makes the job "
            "Succeeded or is a failure",
            type.replicas.front().current->name,
            type.plan->training_container
        ),
        "behaviour 5.1"
    );
}

void say_below_minimum(story& s) {
    if (!says(s.after.reason, reason::below_min_replicas) || !s.plan()->elastic) {
        return;
    }
    s.say(
        awaited_section,
        fmt::format(
            "Replicas: {} run, and spec.elastic.minReplicas is {}",
            engine::replicas_up(*s.view),
            s.plan()->elastic->min_replicas
        ),
        "behaviour 4.10"
    );
}

void say_barrier(story& s) {
    const auto& next = s.after.next_transition;
    if (!next || !says(next->reason, engine::awaited::clean_up)) {
        return;
    }
    std::vector<std::string> running;
    for (const engine::type_view& type : s.view->types) {
        for (const engine::replica_view& replica : type.replicas) {
            if (replica.current != nullptr && !replica.current->deletion &&
                !engine::end_of(*replica.current, type.plan->training_container, s.now)) {
                running.push_back(replica.current->name);
            }
        }
    }
    s.say(
        awaited_section,
        fmt::format(
            "The end of {}{}; clean-up holds until then",
            list_of(running),
            s.plan()->peers_join ? " in torchrun's exit barrier" : ""
        ),
        "behaviour 5.1"
    );
}

void say_left_workers(story& s) {
    const engine::inputs in{s.job, *s.plan(), s.seen, s.rules, s.now};
    if (auto left = engine::describe_left_workers({in, s.after, *s.view})) {
        s.say(awaited_section, *std::move(left), "behaviour 5.13");
    }
}

void say_tensorboard(story& s) {
    const auto& board = s.after.tensorboard;
    if (!board || board->ready) {
        return;
    }
    s.say(
        awaited_section,
        fmt::format(
            "Its TensorBoard is not ready{}{}; that holds nothing of the job",
            board->reason.empty() ? "" : fmt::format(" ({})", board->reason),
            board->note.empty() ? "" : ": " + quoted_text(board->note)
        ),
        "behaviour 9.2"
    );
}

void say_pods(story& s) {
    waiting_pods waiting;
    for (const engine::type_view& type : s.view->types) {
        for (const engine::replica_view& replica : type.replicas) {
            add_wait_of(s, replica, waiting);
        }
    }
    count_workers(s, waiting);
    say_waiting(s, waiting);
    say_below_minimum(s);
}

}  // namespace

void say_awaited(story& s) {
    const std::size_t before = s.out.size();
    if (s.after.phase == job_phase::paused) {
        s.say(
            awaited_section,
            "Whoever paused the job, a user or a queue manager, has to set "
            "spec.runMode.pause.enabled to false",
            "behaviour 6.4"
        );
    } else if (!is_final(s.after.phase)) {
        if (const auto* m = find_meaning(help_meanings(), std::string_view(s.after.reason))) {
            s.say(awaited_section, std::string(m->text), m->rule);
        }
        say_scheduler(s);
        if (s.view) {
            say_pods(s);
            say_deciding_pod(s);
        }
    } else if (s.view) {
        say_barrier(s);
        say_left_workers(s);
    }
    say_terminating(s);
    if (!is_final(s.after.phase)) {
        say_tensorboard(s);
    }
    if (s.out.size() == before) {
        s.say(
            awaited_section,
            is_final(s.after.phase) ? "Nothing: the job has ended"
            : s.after.next_transition
                ? "Nothing from outside: the job goes on by the clock"
                : "Nothing from outside: it is the operator's turn. If that lasts, it does "
                  "not run, or the API server refuses what it asks: its log "
                  "says what"
        );
    }
}

}  // namespace signalbox::core::explaining
