// SPDX-License-Identifier: Apache-2.0
//
// What must hold where somebody damaged a status, labels or the specification.
#include "checks.hpp"
#include "configurations.hpp"
#include "damage.hpp"
#include "engine/facts/ledger.hpp"
#include "engine/facts/reasons.hpp"
#include "engine/view/view.hpp"
#include "process.hpp"
#include "property/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace signalbox::search {

using namespace core;

namespace {

const run_policy& policy_of(const job_object& job) {
    return job.compiled->spec ? job.compiled->spec->policy : job.compiled->fragments.run;
}

bool is_hidden(const world& w, const pod_record& p) {
    return std::ranges::find(w.harm.hidden, p.uid) != w.harm.hidden.end();
}

bool is_mislabelled(const world& w, const pod_record& p) {
    return w.harm.attempts.contains(p.uid);
}

std::int32_t true_attempt(const world& w, const pod_record& p) {
    const auto it = w.harm.attempts.find(p.uid);
    return it == w.harm.attempts.end() ? p.attempt : it->second;
}

bool is_given_up(const world& w, const pod_record& p) {
    const milliseconds bound = stuck_after_of(w);
    return bound.count() > 0 && p.deletion && w.now > *p.deletion + bound;
}

bool may_run(const world& w, const pod_record& p) {
    return p.phase != pod_phase::succeeded && p.phase != pod_phase::failed && !is_given_up(w, p);
}

/// Type and index by the name, which no one can change.
bool is_same_replica(const world& w, const pod_record& a, std::string_view name) {
    const job_plan& plan = valid_plan(w);
    return engine::type_from_name(plan, a.name) == engine::type_from_name(plan, name) &&
           engine::identity_from_name(plan, a.name).index ==
               engine::identity_from_name(plan, name).index;
}

bool nothing_ended(const world& w) {
    return w.past.failures == 0 && w.past.disruptions == 0 && !w.harm.any_exit;
}

void check_end(const world& w, violations& out) {
    const job_status& s = w.job->status;
    const auto limit = policy_of(*w.job).active_deadline_seconds;
    if (w.harm.ended != job_phase::none && s.phase != w.harm.ended) {
        out.push_back(fmt::format("4.1 an end was left: {}", to_string(s.phase)));
    }
    // What became of the launcher of another attempt is not known (5.11).
    const bool by_others = engine::says(s.reason, engine::reason::invalid_spec) ||
                           engine::says(s.reason, engine::reason::replica_lost) ||
                           (limit && engine::says(s.reason, engine::reason::deadline_exceeded));
    if (w.harm.status && is_final(s.phase) && w.harm.ended == job_phase::none && nothing_ended(w) &&
        w.server == mood::good && !by_others) {
        out.push_back(fmt::format("I6 a damaged status ended the job: {}", s.reason));
    }
    if (is_final(s.phase) && policy_of(*w.job).ttl_seconds_after_finished) {
        out.push_back("5.14 the job outlives its time to live");
    }
    if (s.phase == job_phase::running && limit) {
        out.push_back("5.12 a running job waits for no deadline");
    }
}

/// By what the attempt began with; of an attempt that never began, but on a damaged record, by the
/// specification.
std::int32_t true_size(const world& w, const type_plan& type) {
    if (w.past.sizes.empty()) {
        return type.wanted;
    }
    const auto of_type = [&](const auto& size) { return size.first == type.name; };
    const auto began = std::ranges::find_if(w.past.sizes, of_type);
    return began == w.past.sizes.end() ? 0 : began->second;
}

void check_record(const world& w, violations& out) {
    const job_status& s = w.job->status;
    if (!w.harm.status || !w.has_plan() || is_final(s.phase) || s.phase == job_phase::paused) {
        return;
    }
    for (const type_plan& type : w.plan().types) {
        const std::int32_t size = engine::wanted_in_force(s, type);
        const bool untold = w.harm.before_pods && size == type.wanted;
        if (size != true_size(w, type) && !untold) {
            out.push_back(fmt::format("api 5.7 a damaged size acts: {} {}", type.name, size));
        }
    }
    const bool nobody = s.scheduler == "none" && !w.plan().gang;
    const std::pair by{s.queue, nobody ? "" : s.scheduler};
    if (w.harm.scheduled_by && !w.harm.before_pods && by != *w.harm.scheduled_by) {
        out.push_back(fmt::format(
            "api 5.7 a damaged record of who schedules it acts: queue \"{}\", scheduler \"{}\"",
            s.queue,
            s.scheduler
        ));
    }
    if (nothing_ended(w) && !(s.restarts.completed.empty() && s.restarts.given_up.empty())) {
        out.push_back("api 5.7 nothing is expected of a replica that never ended");
    }
    const condition* failure = find_condition(s, "ReplicaFailure");
    if (s.phase == job_phase::running && s.restarts.given_up.empty() && failure != nullptr &&
        failure->status && std::ranges::all_of(w.pods, [](const pod_ptr& p) {
            return p->phase == pod_phase::running;
        })) {
        out.push_back("4.13 ReplicaFailure stays though every replica runs");
    }
}

void check_live_pods(const world& w, violations& out) {
    const job_plan& plan = valid_plan(w);
    const bool kept =
        is_final(w.job->status.phase) &&
        (plan.scope == scope_rule::no_restart ? !plan.run.clean_up_workers
                                              : plan.run.clean_up == clean_up_policy::none);
    for (const pod_ptr& p : w.pods) {
        const bool live = test::is_live(*p);
        if (live && !kept && (is_hidden(w, *p) || is_mislabelled(w, *p))) {
            out.push_back("1.9 a pod lives on with damaged labels: " + p->name);
        }
        for (const pod_ptr& q : w.pods) {
            if (live && p < q && test::is_live(*q) && is_same_replica(w, *p, q->name)) {
                out.push_back(fmt::format("I1 {} lives beside {}", p->name, q->name));
            }
        }
    }
}

}  // namespace

void check_damaged_at_rest(const world& w, violations& out) {
    check_end(w, out);
    check_record(w, out);
    check_live_pods(w, out);
}

void check_beside(const world& w, const action& a, violations& out) {
    if (!w.harm.status && w.harm.attempts.empty()) {
        return;
    }
    for (const pod_ptr& p : w.pods) {
        if (!may_run(w, *p) || w.on_dead_node(*p)) {
            continue;
        }
        if (is_same_replica(w, *p, a.name)) {
            out.push_back(fmt::format("I1 {} is made beside {}", a.name, p->name));
        } else if (true_attempt(w, *p) != a.pod()->attempt) {
            out.push_back(fmt::format("I8 {} is made beside {} of another attempt", a.name, p->name)
            );
        }
    }
}

void check_order(const world& w, const decision& d, violations& out) {
    sight turned(w);
    std::ranges::reverse(turned.pods);
    std::ranges::reverse(turned.children);
    std::ranges::reverse(turned.absences);
    std::vector<refusal> refusals(w.refusals.rbegin(), w.refusals.rend());
    observed seen = turned.observed();
    seen.refusals = refusals;
    if (decide(*w.known_job, seen, w.context->rules(), w.now) != d) {
        out.push_back("12.11 the order of what is observed decides");
    }
}

void check_repair(world& w, const decision& d, violations& out) {
    if (!is_told(d, engine::reason::status_repaired)) {
        return;
    }
    ++w.harm.told;
    if (!w.harm.status) {
        out.push_back("api 5.7 a good status is repaired: " + d.events.front().message);
    } else if (w.harm.told > 1) {
        out.push_back("api 5.7 a repair is told again: " + d.events.front().message);
    }
    if (!d.stages.empty()) {
        out.push_back("12.3 a repair is acted on before it is written");
    }
}

void check_invalid_end(const world& w, const decision& d, violations& out) {
    const job_status& before = w.known_job->status;
    const bool paused = before.phase == job_phase::paused || w.known_job->compiled->fragments.pause;
    if (d.status && !is_final(before.phase) && is_final(d.status->phase) && paused &&
        engine::says(d.status->reason, engine::reason::invalid_spec)) {
        out.push_back("6.4 an invalid specification ends a paused job");
    }
    const job_plan& plan = valid_plan(w);
    if (before.phase != job_phase::succeeded || !plan.peers_join || !before.completion_time ||
        w.now >= *before.completion_time + w.context->rules().exit_barrier) {
        return;
    }
    for (const stage& s : d.stages) {
        for (const action& a : s) {
            const auto pod =
                std::ranges::find_if(w.pods, [&](const pod_ptr& p) { return p->uid == a.uid(); });
            if (pod != w.pods.end() && !is_mislabelled(w, **pod) &&
                (*pod)->attempt == before.attempt && (*pod)->phase == pod_phase::running &&
                !a_peer_failed(w, plan)) {
                out.push_back("5.1 a pod is deleted within the exit barrier");
                return;
            }
        }
    }
}

}  // namespace signalbox::search
