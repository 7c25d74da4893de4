// SPDX-License-Identifier: Apache-2.0
//
// The process that decides: what it is shown, and one pass of it with at most one fault. It keeps
// the contract of decide() (BEHAVIOUR.md 12): its view of a kind of objects is never older than its
// newest acknowledged write to one of them, views never go back, and a new process begins with the
// present.
#pragma once

#include "choices.hpp"
#include "engine/facts/reasons.hpp"
#include "world.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace signalbox::search {

/// What one choice led to.
struct outcome {
    std::vector<std::string> violations;  ///< each begins with the rule it breaks
    int writes = 0;                       ///< that changed something on the server
};

/// What the process is shown. Valid while the world is.
struct sight {
    explicit sight(const world& w);
    core::observed observed() const;

    const world* of;
    std::vector<const core::pod_record*> pods;
    std::vector<const core::child_record*> children;
    std::vector<core::confirmed_absence> absences;
};

/// The decision in this world; made once, until something happens.
const core::decision& decision_of(const world& w);

/// The decision has an event with that reason.
bool is_told(const core::decision& d, core::engine::reason what);

/// Writes that a pass would make now, its status first; null for the status.
std::vector<const core::action*> writes_of(const world& w);

/// A refusal of it is kept: deletes and confirmations have none.
bool is_refusal_kept(const core::action& a);

/// One pass; `c` is a choice of the first group of op.
void run_pass(world& w, const choice& c, outcome& out);

/// Another process takes over.
void restart(world& w);

}  // namespace signalbox::search
