// SPDX-License-Identifier: Apache-2.0
//
// Generated stories: a job, and what happens to it step by step. A step names pods and values by
// numbers that are taken modulo what is there, so that a story stays one when steps are left out.
#pragma once

#include "property/cluster.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace signalbox::test {

/// Something that happens between two decisions.
enum class happening {
    nothing,
    pods_run,
    one_runs,
    scheduled,
    ready_lost,
    exits,
    asked_to_delete,
    deletions_finish,
    vanishes,
    disrupted,
    unknown,
    evicted,
    fails_without_code,
    init_fails,
    cannot_pull,
    loses_labels,
    is_duplicated,
    foreign_pod,
    child_vanishes,
    child_edited,
    child_replaced,
    child_terminates,
    tensorboard_ready,
    name_taken,
    mood_changes,
    capability_changes,
    pause_toggles,
    resize,
    budget_edit,
    deadline_edit,
    spec_breaks,
    deletes_slow_down,
    count
};
std::string to_string(happening h);

struct step {
    happening what = happening::nothing;
    std::uint32_t a = 0;  ///< which pod or object
    std::uint32_t b = 0;  ///< which value
    int wait_ms = 0;
    /// Bit i: the i-th action of the decision after it does not take effect.
    std::uint32_t lost = 0;
    bool defers = false;
};
std::string to_string(const step& s);

struct story {
    draft job;
    std::vector<step> steps;
};

/// Draws a job and so many steps.
story draw_story(std::uint64_t seed, int steps);

void happen(cluster& c, const step& s);

/// The faults stop, pods run, deletions end: what a healthy cluster does by itself in a moment.
void calm(cluster& c);

/// What takes effect of a decision by the bits of `lost`.
class losing_gate {
public:
    explicit losing_gate(std::uint32_t lost) : lost_(lost) {}
    bool operator()() {
        const bool drop = (lost_ & 1U) != 0;
        lost_ >>= 1;
        return !drop;
    }

private:
    std::uint32_t lost_;
};

}  // namespace signalbox::test
