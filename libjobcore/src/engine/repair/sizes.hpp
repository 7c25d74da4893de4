// SPDX-License-Identifier: Apache-2.0
//
// Types and sizes of the present attempt (BEHAVIOUR.md 10.4), where a status contradicts itself.
#pragma once

#include "engine/facts/inputs.hpp"

#include <optional>
#include <vector>

namespace signalbox::core::engine {

/// The tasks of an attempt with other types or sizes than `s` has, where names of replicas or
/// counts tell them; nothing where they agree, or where it cannot be known. A type that is only in
/// the specification is none of the attempt.
std::optional<std::vector<task_status>> find_true_tasks(const inputs& in, const job_status& s);

}  // namespace signalbox::core::engine
