// SPDX-License-Identifier: Apache-2.0
//
// The deadline of a job: `activeDeadlineSeconds` after its start (BEHAVIOUR.md 5.12).
#pragma once

#include "engine/facts/inputs.hpp"

#include <optional>

namespace signalbox::core::engine {

bool deadline_passed(const inputs& in);

/// When it passes for a job that started at `start`; nothing if it has none, has not started, or
/// the deadline is too far to be a time.
std::optional<instant> deadline_of(const inputs& in, std::optional<instant> start);

}  // namespace signalbox::core::engine
