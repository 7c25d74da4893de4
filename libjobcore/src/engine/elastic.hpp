// SPDX-License-Identifier: Apache-2.0
//
// The size of an elastic job (BEHAVIOUR.md 7). All are for jobs whose plan is elastic; resize and
// write_default_size do nothing for others.
#pragma once

#include "engine/losses.hpp"

#include <cstdint>
#include <span>

namespace signalbox::core::engine {

/// Records the size that the specification asks for. True if it differed: the next pass acts.
bool resize(pass& p);

/// Writes `expectedReplicas` into a job that does not say it (7.1).
void write_default_size(pass& p);

/// Wanted replicas that run or have completed; given-up ones are none of them (4).
std::int32_t replicas_up(const pass& p);

/// Replicas left if these are given up (5.10).
std::int32_t replicas_remaining(const pass& p, std::span<const loss> failed);

}  // namespace signalbox::core::engine
