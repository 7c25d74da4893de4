// SPDX-License-Identifier: Apache-2.0
//
// Phase of a job that has not ended (BEHAVIOUR.md 4.7-4.12), and what it waits for.
#include "engine/facts/avoided.hpp"
#include "engine/facts/ledger.hpp"
#include "engine/rules/verdict.hpp"
#include "engine/shown/shown.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::core::engine {
namespace {

/// The status that was read says for the attempt that still runs that it ran once.
bool was_running(const context& c) {
    const job_status& before = c.in.job.status;
    return before.attempt == c.status.attempt &&
           (before.phase == job_phase::running || says(before.reason, reason::below_min_replicas));
}

bool is_rebuilding(const context& c) {
    const auto& last = c.status.restarts.last;
    return last && last->scope == restart_scope::job && last->attempt == c.status.attempt;
}

bool deciding_is_unknown(const context& c) {
    const replica_view* deciding = c.deciding();
    return deciding != nullptr && deciding->current != nullptr &&
           deciding->current->phase == pod_phase::unknown;
}

constexpr std::string_view see_invalid_spec =
    "the specification is invalid; see the event InvalidSpec";

/// Something that keeps the operator from making what is missing.
bool is_held_up(const work& planned) {
    return planned.waits && planned.waits->rank < wait_rank::unschedulable;
}

/// The first pod that somebody holds back from the scheduler.
const pod_record* find_gated(const context& c) {
    for (const type_view& type : c.view.types) {
        for (const replica_view& s : type.replicas) {
            if (s.current != nullptr && !s.current->gates.empty()) {
                return s.current;
            }
        }
    }
    return nullptr;
}

/// A pod may find no place because of the nodes that it must avoid (13.6).
std::string must_avoid(const context& c) {
    const std::string nodes = c.in.plan.run.avoid == avoid_policy::required
                                  ? describe_avoided(c.in, c.status)
                                  : std::string();
    return nodes.empty() ? nodes
                         : fmt::format(
                               "; spec.runPolicy.avoidNodes keeps it off {}, the annotation "
                               "batch.tensorstack.dev/forgive-nodes takes them back",
                               nodes
                           );
}

/// What the job waits for: what the work has found, else what its pods do.
wait find_wait(const context& c, const work& planned) {
    if (is_held_up(planned)) {
        return *planned.waits;
    }
    for (const type_view& type : c.view.types) {
        for (const replica_view& s : type.replicas) {
            if (s.current != nullptr && s.current->unschedulable) {
                return {
                    wait_rank::unschedulable,
                    reason::unschedulable,
                    describe_unschedulable(*s.current) + must_avoid(c)};
            }
        }
    }
    if (planned.waits && planned.waits->rank < wait_rank::workers) {
        return *planned.waits;
    }
    if (const pod_record* gated = find_gated(c)) {
        return {wait_rank::gated, reason::scheduling_gated, describe_gates(*gated)};
    }
    if (planned.waits) {
        return *planned.waits;
    }
    const bool too_few = c.in.plan.elastic && c.status.attempt > 0 &&
                         replicas_remaining(c, {}) < c.in.plan.elastic->min_replicas;
    return {
        wait_rank::creation,
        reason::creating_pods,
        too_few ? "fewer replicas than minReplicas are left: the others were given up"
                : "the pods are being created and started"};
}

/// What is worth an event of its own when it begins (1.8, 2.8), and what a job lacks that runs
/// without some of its pods (8.4) or other objects (2.8).
bool is_told_at_once(const context& c, const wait& w) {
    const bool told_if_running =
        w.reason == reason::waiting_for_pod_group || w.reason == reason::object_refused;
    return w.reason == reason::quota_exceeded || w.reason == reason::name_conflict ||
           w.reason == reason::waiting_for_room || (told_if_running && was_running(c));
}

/// Somebody has changed the label since the job began (8.10).
std::optional<fact> ignored_queue(const context& c) {
    const job_meta& meta = c.in.job.meta;
    if (meta.queue_label == meta.queue) {
        return std::nullopt;
    }
    const auto named = [](const std::string& queue) {
        return queue.empty() ? std::string("no queue") : "queue " + queue;
    };
    return fact{
        reason::queue_ignored,
        fmt::format(
            "the label kueue.x-k8s.io/queue-name has no effect before the job is paused and "
            "resumed: the label says {}, and it began with {}",
            named(meta.queue_label),
            named(meta.queue)
        )};
}

/// A container beside one that trains has failed, and nothing starts it again (api 1.13).
std::optional<fact> failed_sidecar(const context& c) {
    for (const type_view& type : c.view.types) {
        for (const replica_view& s : type.replicas) {
            if (!s.is_up()) {
                continue;
            }
            const auto failed =
                std::ranges::find_if(s.current->containers, [](const container_record& one) {
                    return !one.init && !one.training && one.state == container_state::terminated &&
                           one.exit_code != 0;
                });
            if (failed != s.current->containers.end()) {
                return fact{
                    reason::container_failed,
                    fmt::format(
                        "container {} of pod {} exited with {} and is not started again; training "
                        "goes on",
                        failed->name,
                        s.current->name,
                        failed->exit_code
                    )};
            }
        }
    }
    return std::nullopt;
}

/// Who is told to end has to write a checkpoint in less time than the last one took (13.13).
std::optional<fact> short_grace(const context& c) {
    const auto& progress = c.status.progress;
    const auto& types = c.in.plan.types;
    if (!progress || progress->attempt != c.status.attempt || !progress->checkpoint_seconds ||
        types.empty()) {
        return std::nullopt;
    }
    const type_plan& least = *std::ranges::min_element(types, {}, &type_plan::grace_seconds);
    if (*progress->checkpoint_seconds <= least.grace_seconds) {
        return std::nullopt;
    }
    return fact{
        reason::short_grace,
        fmt::format(
            "pods of type {} have {} s to end (terminationGracePeriodSeconds), less than the last "
            "checkpoint took: a pause or a preemption loses steps",
            least.name,
            least.grace_seconds
        )};
}

std::vector<fact> find_facts(const context& c, const done& d) {
    std::vector<fact> out;
    const bool same_attempt = c.status.attempt == c.in.job.status.attempt;
    if (d.found.keys.is == key_object::state::spent && same_attempt) {
        out.push_back(
            {reason::secret_lost,
             fmt::format(
                 "Secret {} was deleted; the running pods keep their keys, and it is made again "
                 "with the next attempt",
                 d.found.keys.name
             )}
        );
    }
    if (d.planned.waits && is_told_at_once(c, *d.planned.waits)) {
        out.push_back({d.planned.waits->reason, d.planned.waits->message});
    }
    if (d.still && !d.recorded) {
        out.push_back({reason::stalled, d.still->text});
    }
    if (auto sidecar = failed_sidecar(c)) {
        out.push_back(*std::move(sidecar));
    }
    if (auto queue = ignored_queue(c)) {
        out.push_back(*std::move(queue));
    }
    if (auto grace = short_grace(c)) {
        out.push_back(*std::move(grace));
    }
    return out;
}

phase_shown waiting(const context& c, const done& d, job_phase phase) {
    wait w = find_wait(c, d.planned);
    return {phase, w.reason, std::move(w.message), {}};
}

/// What somebody else has to mend is told before what the job is about (4.7).
bool is_for_others(reason why) {
    return why == reason::object_refused || why == reason::name_conflict ||
           why == reason::quota_exceeded || why == reason::waiting_for_pod_group ||
           why == reason::waiting_for_quota;
}

phase_shown choose_phase(const context& c, const done& d, const std::vector<fact>& facts) {
    const bool complete = is_complete(c);
    if (is_rebuilding(c) && !complete && !was_running(c)) {
        phase_shown out = waiting(c, d, job_phase::pending);
        out.waits_on = out.reason;
        out.reason = is_for_others(out.reason) ? out.reason : reason::restarting;
        return out;
    }
    if (deciding_is_unknown(c)) {
        return {
            job_phase::unknown,
            reason::master_unknown,
            is_held_up(d.planned) ? d.planned.waits->message : "",
            {}};
    }
    if (was_running(c) && below_minimum(c)) {
        phase_shown out = waiting(c, d, job_phase::pending);
        out.reason = reason::below_min_replicas;
        return out;
    }
    if (complete || was_running(c)) {
        phase_shown out{
            job_phase::running, facts.empty() ? reason::none : facts.front().reason, "", {}};
        out.complete = complete;
        return out;
    }
    const job_phase before = c.in.job.status.phase;
    const bool evicted = d.recorded && std::holds_alternative<quota_lost>(*d.recorded);
    const bool resumes = !evicted && (before == job_phase::paused || before == job_phase::resuming);
    return waiting(c, d, resumes ? job_phase::resuming : job_phase::pending);
}

}  // namespace

phase_shown show_phase(const context& c, const done& d) {
    if (c.status.phase == job_phase::paused) {
        // Somebody took the pause back: what keeps the job is the invalid specification.
        const bool kept = c.in.invalid && !c.in.plan.paused;
        return {
            job_phase::paused,
            kept ? reason::invalid_spec : reason::paused,
            kept ? std::string(see_invalid_spec) : std::string(),
            {}};
    }
    std::vector<fact> facts = find_facts(c, d);
    phase_shown out =
        c.in.invalid
            ? phase_shown{c.status.phase, reason::invalid_spec, std::string(see_invalid_spec), {}}
            : choose_phase(c, d, facts);
    out.facts = std::move(facts);
    return out;
}

}  // namespace signalbox::core::engine
