// SPDX-License-Identifier: Apache-2.0
#include "engine/repair/witness.hpp"

#include "engine/facts/ledger.hpp"

namespace signalbox::core::engine {
namespace {

bool is_true(const job_status& s, condition_type type) {
    const condition* c = find_condition(s, type);
    return c != nullptr && c->status;
}

/// 1: it says so, -1: it says the opposite, 0: it is not there.
int vote(const job_status& s, condition_type type) {
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

}  // namespace

job_phase phase_by_witnesses(const job_status& s) {
    const bool known = s.phase != job_phase::none;
    const int phase = !known ? 0 : is_final(s.phase) ? 1 : -1;
    // Before its first attempt a job ends by its specification alone (4.2).
    const bool too_early = s.attempt == 0 && !says(s.reason, reason::invalid_spec);
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

}  // namespace signalbox::core::engine
