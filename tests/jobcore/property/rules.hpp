// SPDX-License-Identifier: Apache-2.0
//
// What holds of every decision, whatever was observed (BEHAVIOUR.md, Invariants). Each violation
// is one line that begins with the rule it breaks.
#pragma once

#include "property/cluster.hpp"

#include <string>
#include <vector>

namespace signalbox::test {

using violations = std::vector<std::string>;

/// Of a decision made on `c` as it stands: actions, events and wake-up.
void check_actions(const cluster& c, const core::decision& d, violations& out);

/// Of the status it writes, against the one it was made on. `reachable`: the status in hand was
/// written by decisions of ours, not drawn or damaged.
void check_status(const cluster& c, const core::decision& d, bool reachable, violations& out);

/// True if something of it is to be done now: a held action holds the stages after its own too.
bool acts(const core::decision& d, core::instant now);

/// Of a decision that changes nothing and asks for nothing: the job may wait like this (4.12).
void check_rest(const cluster& c, const core::decision& d, violations& out);

}  // namespace signalbox::test
