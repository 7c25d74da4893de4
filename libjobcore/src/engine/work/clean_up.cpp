// SPDX-License-Identifier: Apache-2.0
//
// What goes after the end of a job, and when the job itself goes (BEHAVIOUR.md 5.13, 5.14).
#include "engine/facts/ledger.hpp"
#include "engine/view/children.hpp"
#include "engine/view/ended.hpp"
#include "engine/work/parts.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace signalbox::core::engine {
namespace {

/// Pods that run sshd end by nothing but a deletion.
bool serves(const job_plan& plan, const pod_record& pod) {
    const auto type = std::ranges::find(plan.types, pod.type, &type_plan::name);
    return type != plan.types.end() && type->serves(pod.index);
}

/// The other pods wait for it in the barrier of torchrun, all of its 300 s.
bool a_peer_failed(const context& c) {
    return c.in.plan.peers_join && std::ranges::any_of(c.in.seen.pods, [&](const pod_record* pod) {
               return c.in.owns(*pod) && pod->attempt == c.status.attempt && has_failed(c.in, *pod);
           });
}

/// After a success peers get time to end by themselves (5.1): until when, while one of them still
/// uses it.
std::optional<instant> barrier_end(const context& c) {
    const bool peers_end = c.in.plan.peers_end && c.status.phase == job_phase::succeeded;
    if (!peers_end || !c.status.completion_time) {
        return std::nullopt;
    }
    const bool any_runs = std::ranges::any_of(c.in.seen.pods, [&](const pod_record* pod) {
        return c.in.owns(*pod) && pod->attempt == c.status.attempt && !pod->deletion &&
               !serves(c.in.plan, *pod) && has_started(c.in, *pod) && !has_ended(c.in, *pod);
    });
    const policy& policy = c.in.policy;
    const instant until = *c.status.completion_time +
                          (c.in.plan.peers_join ? policy.exit_barrier : policy.finish_barrier);
    return any_runs && !a_peer_failed(c) && c.in.now < until ? std::optional(until) : std::nullopt;
}

/// Why a pod goes after the end of its job (5.13).
enum class removal {
    never_started,
    older_attempt,
    surplus,
    deadline,
    may_wait_for_ever,
    workers,
    all,
    unfinished
};

std::string_view to_string(removal why) {
    switch (why) {
        case removal::never_started:
            return "its training never started";
        case removal::older_attempt:
            return "the pod is of an older attempt";
        case removal::surplus:
            return "the pod is replaced or not wanted";
        case removal::deadline:
            return "the deadline has passed";
        case removal::may_wait_for_ever:
            return "the launcher may wait forever for a lost replica";
        case removal::workers:
            return "the job has ended, cleanUpWorkers true";
        case removal::all:
            return "the job has ended, cleanUpPolicy All";
        case removal::unfinished:
            return "the job has ended, cleanUpPolicy Unfinished";
    }
    return "";
}

/// Kinds that restart nothing have `cleanUpWorkers`: the launcher stays for its log, unless it may
/// wait without end for workers that are lost (5.11, 5.13).
std::optional<removal> removal_by_type(const context& c, const pod_record& pod) {
    const auto goes_if = [](bool goes, removal why) {
        return goes ? std::optional(why) : std::nullopt;
    };
    if (!c.in.plan.types.empty() && pod.type == c.in.plan.types[c.in.plan.deciding_type].name) {
        return goes_if(says(c.status.reason, reason::replica_lost), removal::may_wait_for_ever);
    }
    return goes_if(c.in.plan.run.clean_up_workers, removal::workers);
}

using pod_list = std::vector<const pod_record*>;

/// Why a pod of a finished job goes; nothing if it stays. `surplus`: sorted.
std::optional<removal> removal_of(
    const context& c, const pod_list& surplus, const pod_record& pod, bool barrier
) {
    const bool ended = has_ended(c.in, pod);
    if (!ended && !has_started(c.in, pod)) {
        return removal::never_started;
    }
    if ((pod.attempt != c.status.attempt || !is_named_so(c.in.plan, pod)) && !ended) {
        return removal::older_attempt;
    }
    if (barrier) {
        return std::nullopt;
    }
    // Without sizes on record every pod would be.
    if (!ended && !c.status.tasks.empty() && std::ranges::binary_search(surplus, &pod)) {
        return removal::surplus;
    }
    if (says(c.status.reason, reason::deadline_exceeded) && !ended) {
        return removal::deadline;
    }
    if (c.in.plan.scope == scope_rule::no_restart) {
        return removal_by_type(c, pod);
    }
    const bool unfinished = pod.phase != pod_phase::succeeded && pod.phase != pod_phase::failed;
    switch (c.in.plan.run.clean_up) {
        case clean_up_policy::all:
            return removal::all;
        case clean_up_policy::unfinished:
            return unfinished ? std::optional(removal::unfinished) : std::nullopt;
        case clean_up_policy::none:
            break;
    }
    return std::nullopt;
}

/// In what order pods are asked to go, since a pass may be cut off anywhere (5.13).
enum class turn { surplus, usual, failed, count };

/// By which stage the pod is deleted. `surplus`: sorted.
turn turn_of(const context& c, const pod_list& surplus, const pod_record& pod) {
    if (has_failed(c.in, pod)) {
        return turn::failed;
    }
    return std::ranges::binary_search(surplus, &pod) ? turn::surplus : turn::usual;
}

void remove_pods(const context& c, bool barrier, work& out) {
    const pod_list surplus = surplus_pods(c);
    std::array<stage, static_cast<std::size_t>(turn::count)> stages;
    for (const pod_record* pod : c.in.seen.pods) {
        if (!c.in.owns(*pod) || pod->deletion) {
            continue;
        }
        if (const auto why = removal_of(c, surplus, *pod, barrier)) {
            stages[static_cast<std::size_t>(turn_of(c, surplus, *pod))].push_back(
                remove_pod(*pod, std::string(to_string(*why)), "behaviour 5.13")
            );
        }
    }
    for (stage& pods : stages) {
        std::ranges::sort(pods, {}, &action::name);
        out.add(std::move(pods));
    }
}

/// PodGroup, Services, ConfigMaps; the Secret when no pod is left (5.13).
void remove_objects(const context& c, work& out) {
    stage objects;
    for (const child_record* child : c.in.seen.children) {
        const bool kept = is_companion(c.in.plan, child->kind, child->name) ||
                          (child->kind == object_kind::secret && !c.in.seen.pods.empty());
        if (!kept && !child->deleting && c.in.owns(*child) && !finish_quota(c, *child, out)) {
            objects.push_back(remove_child(*child, "the job has ended", "behaviour 5.13"));
        }
    }
    if (objects.empty()) {
        return;
    }
    std::ranges::sort(objects, {}, [](const action& a) { return std::pair(a.kind, a.name); });
    out.events.push_back(
        {false,
         std::string(to_string(reason::cleaned_up)),
         "The job's objects are removed as its policy says"}
    );
    out.add(std::move(objects));
}

/// When the job itself is to be deleted (5.14).
std::optional<instant> expiry(const context& c) {
    const auto ttl = c.in.plan.run.ttl_seconds_after_finished;
    if (!ttl || !c.status.completion_time) {
        return std::nullopt;
    }
    return *c.status.completion_time + seconds(*ttl);
}

/// Told once, however often the clock goes back (5.14).
void tell_of_future_end(const context& c, work& out) {
    if (*c.status.completion_time > c.in.now && out.told.empty()) {
        out.told.push_back(reason::cleaned_up);
        out.events.push_back(
            {true,
             std::string(to_string(reason::cleaned_up)),
             "The completion time lies in the future; the time to live counts from it"}
        );
    }
}

action remove_job(const job_plan& plan) {
    return {
        object_kind::job,
        plan.job_name,
        delete_object{plan.job_uid, /*foreground=*/true},
        {},
        "the job's time to live after its end has passed",
        "behaviour 5.14"};
}

}  // namespace

bool clean_up(const context& c, work& out) {
    if (is_told(c.in.job.status, reason::cleaned_up)) {
        out.told.push_back(reason::cleaned_up);
    }
    const auto due = expiry(c);
    if (due && *due <= c.in.now) {
        out.add({remove_job(c.in.plan)});  // the deletion takes the children along
        return true;
    }
    const auto barrier = barrier_end(c);
    remove_pods(c, barrier.has_value(), out);
    if (barrier) {
        out.wake_ups.push_back({*barrier, awaited::clean_up});
    } else {
        remove_objects(c, out);
    }
    if (due) {
        tell_of_future_end(c, out);
        out.wake_ups.push_back({*due, awaited::ttl});
    }
    return false;
}

}  // namespace signalbox::core::engine
