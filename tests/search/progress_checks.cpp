// SPDX-License-Identifier: Apache-2.0
//
// Stalls, held against when training truly made its last step and since when everything ran
// (BEHAVIOUR.md 13.8); where the time went, also where somebody damaged the record (13.1).
#include "checks.hpp"
#include "configurations.hpp"
#include "engine/facts/reasons.hpp"
#include "events.hpp"
#include "process.hpp"
#include "property/rules.hpp"
#include "property/server_side.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace signalbox::search {

using namespace core;

namespace {

/// What the user wants of stalls, by the specification of the configuration.
const run_policy* policy_of(const world& w) {
    return w.known_job->compiled->spec ? &w.known_job->compiled->spec->policy : nullptr;
}

/// The last moment at which training was known to go on, or at which it began to run as a whole.
instant last_sign(const world& w, std::int32_t attempt) {
    instant last = w.heard_since.value_or(w.now);
    if (w.past.progress && w.past.progress_attempt == attempt) {
        last = std::max(last, *w.past.progress);
    }
    const sight shown(w);
    for (const pod_record* p : shown.pods) {
        const container_record* c = training_container(w, *p);
        if (p->attempt == attempt && c != nullptr && c->started && w.past.set_back.count() == 0) {
            last = std::max(last, std::min(*c->started, w.now));
        }
    }
    return round_down_to_second(last);
}

/// A pod that ended with 0 may be all that is asked of its replica.
bool is_lost(const world& w, const pod_record& p) {
    const container_record* c = training_container(w, p);
    const bool ended = c != nullptr && c->state == container_state::terminated;
    return ended ? c->exit_code != 0 : p.deletion || test::has_ended(p);
}

bool has_lost_pod(const world& w, std::int32_t attempt) {
    const sight shown(w);
    return std::ranges::any_of(shown.pods, [&](const pod_record* p) {
        return p->attempt == attempt && is_lost(w, *p);
    });
}

bool stalls(const job_status& s) {
    const condition* c = find_condition(s, "Stalled");
    return c != nullptr && c->status;
}

}  // namespace

/// What an attempt lost comes back as soon as a checkpoint is heard that it wrote since.
void check_saved_work(const world& w, const decision& d, violations& out) {
    const job_status& before = w.known_job->status;
    const progress_report& said = w.reported;
    const auto& known = before.progress;
    const bool newer = said.checkpoint_step && (!known || known->attempt != said.attempt ||
                                                known->checkpoint_step < said.checkpoint_step);
    const bool saves =
        newer && may_save_work(before, said.attempt) && *said.checkpoint_time >= *before.time.since;
    const std::int64_t saved = before.time.running + before.time.recoverable;
    if (saves && (!d.status || d.status->time.running < saved)) {
        out.push_back("13.1 work is lost that a checkpoint holds");
    }
}

void check_progress(const world& w, const decision& d, violations& out) {
    const run_policy* policy = policy_of(w);
    if (w.context->config().reports && w.past.set_back.count() == 0) {
        check_saved_work(w, d, out);
    }
    if (!w.context->config().reports || policy == nullptr || !d.status) {
        return;
    }
    const job_status& before = w.known_job->status;
    const job_status& next = *d.status;
    const seconds bound(policy->stall_after);
    const bool fresh = next.restarts.last && next.restarts.last != before.restarts.last &&
                       engine::says(next.restarts.last->cause, engine::cause::stalled);
    const bool told = stalls(next) && !stalls(before);
    if ((fresh || told) && !stalls(before) && w.now - last_sign(w, before.attempt) < bound) {
        out.push_back("13.8 a stall before its time");
    }
    if ((fresh || told) && has_lost_pod(w, before.attempt)) {
        out.push_back("13.8 a stall beside a pod that is lost");
    }
    if (fresh && policy->on_stall != stall_action::restart) {
        out.push_back("13.8 a stall restarts that is to be told of");
    }
    if (fresh && next.attempt != before.attempt + 1) {
        out.push_back("13.8 a stall without a new attempt");
    }
    if (next.progress && next.progress->attempt > next.attempt) {
        out.push_back("13.7 progress of an attempt that is still to come");
    }
    if (next.progress && before.progress && next.progress->attempt == before.progress->attempt &&
        next.progress->current_step < before.progress->current_step) {
        out.push_back("13.7 progress goes back within an attempt");
    }
}

void check_progress_at_rest(const world& w, violations& out) {
    const job_status& s = w.job->status;
    const run_policy* policy = policy_of(w);
    if (!w.context->config().reports || policy == nullptr || s.phase != job_phase::running ||
        s.time.in == time_kind::restarting) {
        return;
    }
    const bool reported = s.progress && s.progress->attempt == s.attempt;
    const bool late = w.now - last_sign(w, s.attempt) > seconds(policy->stall_after);
    if (reported && late && !stalls(s)) {
        out.push_back("13.8 no one notices that training stands still");
    }
}

void check_times_at_rest(const world& w, violations& out) {
    const job_status& s = w.job->status;
    if (is_final(s.phase) || !s.time.since || !w.job->meta.creation_time) {
        return;
    }
    const auto all = std::chrono::floor<seconds>(*s.time.since - *w.job->meta.creation_time);
    if (s.time.total() != all.count()) {
        out.push_back(fmt::format("13.1 {} s are booked of {}", s.time.total(), all.count()));
    }
}

}  // namespace signalbox::search
