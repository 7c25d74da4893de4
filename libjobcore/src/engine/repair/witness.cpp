// SPDX-License-Identifier: Apache-2.0
#include "engine/repair/witness.hpp"

#include "engine/facts/ledger.hpp"
#include "engine/facts/reasons.hpp"
#include "jobcore/strings.hpp"

#include <algorithm>
#include <numeric>

namespace signalbox::core::engine {
namespace {

bool is_true(const job_status& s, std::string_view type) {
    const condition* c = find_condition(s, type);
    return c != nullptr && c->status;
}

/// 1: it says so, -1: it says the opposite, 0: it is not there.
int vote(const job_status& s, std::string_view type) {
    const condition* c = find_condition(s, type);
    return c == nullptr ? 0 : c->status ? 1 : -1;
}

job_phase phase_by_conditions(const job_status& s) {
    if (is_true(s, condition_type::running)) {
        return job_phase::running;
    }
    return is_true(s, condition_type::paused) ? job_phase::paused : job_phase::pending;
}

/// How it ended, by the conditions; where they do not say, the phase.
job_phase phase_of_end(const job_status& s) {
    const bool well = is_true(s, condition_type::succeeded);
    if (well == is_true(s, condition_type::failed)) {
        return s.phase;
    }
    return well ? job_phase::succeeded : job_phase::failed;
}

std::int64_t total(const std::vector<task_status>& tasks) {
    return std::accumulate(
        tasks.begin(),
        tasks.end(),
        std::int64_t{0},
        [](std::int64_t n, const task_status& t) { return n + t.wanted; }
    );
}

std::optional<std::int64_t> counted(const job_status& s) {
    if (!s.aggregate) {
        return std::nullopt;
    }
    const aggregate_counts& a = *s.aggregate;
    return std::int64_t{a.creating} + a.pending + a.running + a.succeeded + a.failed + a.unknown +
           a.deleted;
}

std::optional<std::int64_t> of_ready(const job_status& s) {
    const std::size_t slash = s.ready.find('/');
    const auto n = slash == s.ready.npos
                       ? std::nullopt
                       : read_whole_number(std::string_view(s.ready).substr(slash + 1));
    return n ? std::optional<std::int64_t>(*n) : std::nullopt;
}

}  // namespace

job_phase phase_by_witnesses(const job_status& s) {
    const bool known = s.phase != job_phase::none;
    const int phase = !known ? 0 : is_final(s.phase) ? 1 : -1;
    // Before its first attempt a job ends by its specification alone (4.2).
    const bool too_early = s.attempt == 0 && s.reason != reason::invalid_spec;
    const int sum = phase + vote(s, condition_type::completed) +
                    (s.completion_time.has_value() ? 1 : -1) - (too_early ? 1 : 0);
    const bool told = is_true(s, condition_type::completed) || phase > 0;
    const bool ended = sum > 0 || (sum == 0 && (known ? is_final(s.phase) : told));
    if (ended) {
        return phase_of_end(s);
    }
    const bool lost = !known && !s.conditions.empty();
    return (!ended && is_final(s.phase)) || lost ? phase_by_conditions(s) : s.phase;
}

job_phase phase_of_pause(const job_status& s) {
    if (is_final(s.phase) || s.phase == job_phase::none) {
        return s.phase;
    }
    const bool told = is_true(s, condition_type::paused);
    if (s.phase == job_phase::paused && !told && s.start_time) {
        return phase_by_conditions(s);
    }
    const bool lost = s.phase != job_phase::paused && told && !s.start_time &&
                      !is_true(s, condition_type::running);
    return lost ? job_phase::paused : s.phase;
}

bool contradicts_sizes(const job_status& s) {
    const std::int64_t sizes = total(s.tasks);
    const auto count = counted(s);
    const auto ready = of_ready(s);
    return (count || ready) && count.value_or(-1) != sizes && ready.value_or(-1) != sizes;
}

std::vector<task_status> sizes_of_plan(const job_status& s, const job_plan& plan) {
    std::vector<task_status> out;
    for (const role_plan& role : plan.roles) {
        const task_status* old = find_task(s, role.type);
        out.push_back(old == nullptr ? task_status{role.type, 0, 0, {}} : *old);
        out.back().wanted = role.wanted;
    }
    return out;
}

std::optional<std::vector<task_status>> sizes_by_list(const job_status& s) {
    std::vector<task_status> out = s.tasks;
    for (task_status& task : out) {
        task.wanted = static_cast<std::int32_t>(task.replicas.size());
    }
    const bool all = total(out) == counted(s) || total(out) == of_ready(s);
    return all ? std::optional(std::move(out)) : std::nullopt;
}

bool same_sizes(const std::vector<task_status>& a, const std::vector<task_status>& b) {
    return std::ranges::equal(a, b, [](const task_status& x, const task_status& y) {
        return x.type == y.type && x.wanted == y.wanted;
    });
}

}  // namespace signalbox::core::engine
