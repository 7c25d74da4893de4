// SPDX-License-Identifier: Apache-2.0
//
// How a job ends by itself: its deciding pod, or its deadline (BEHAVIOUR.md 5.1, 5.12).
#include "engine/facts/deadline.hpp"
#include "engine/rules/rules.hpp"
#include "engine/rules/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace signalbox::core::engine {

namespace {

/// Of a paused job nothing counts but its deciding pod (6.2).
health of_deciding_pod(const context& c, const health& h) {
    health out;
    std::ranges::copy_if(h.losses, std::back_inserter(out.losses), [&](const loss& l) {
        return c.is_deciding(l.type, l.index);
    });
    return out;
}

/// Under an invalid specification nothing is confirmed, and a pod that is missing may make a
/// failure free (4.2).
bool is_doubtful(const context& c) {
    if (!c.in.invalid || c.in.plan.scope == scope_rule::no_restart) {
        return false;
    }
    return std::ranges::any_of(c.view.types, [](const type_view& type) {
        return std::ranges::any_of(type.replicas, [](const replica_view& s) {
            return s.seen && s.current == nullptr && !s.done();
        });
    });
}

}  // namespace

std::optional<record> end_by_success(const context& c, const health& h, const open_questions&) {
    if (!h.deciding_end || !h.deciding_end->success()) {
        return std::nullopt;
    }
    // Under torchrun a failed peer of the same attempt outranks it, unless only pod 0 counts.
    const bool peers_count =
        c.in.plan.peers_join && c.in.plan.run.failure != failure_policy::master;
    if (peers_count && std::ranges::find(h.losses, false, &loss::disrupted) != h.losses.end()) {
        return std::nullopt;
    }
    return job_end{job_phase::succeeded, reason::succeeded, "The deciding replica exited with 0"};
}

std::optional<record> end_by_deciding_pod(
    const context& c, const health& h, const open_questions& open
) {
    if (!h.deciding_end || h.deciding_end->success() || open.absences || open.refused_until ||
        open.waits_for_cause() || is_doubtful(c)) {
        return std::nullopt;
    }
    const judgement j = judge(c, c.in.was_paused() ? of_deciding_pod(c, h) : h);
    return j.ends ? std::optional<record>(end_without_restart(j.lost, j.said)) : std::nullopt;
}

std::optional<record> end_by_deadline(const context& c, const health&, const open_questions&) {
    if (!deadline_passed(c.in)) {
        return std::nullopt;
    }
    return job_end{
        job_phase::failed,
        reason::deadline_exceeded,
        fmt::format(
            "the job did not end within {} s of its start",
            c.in.plan.run.active_deadline_seconds.value_or(0)
        )};
}

}  // namespace signalbox::core::engine
