// SPDX-License-Identifier: Apache-2.0
//
// The queue of Kueue that a job names, by a field or by a label (BEHAVIOUR.md 8.10).
#pragma once

#include "api/walk/walk.hpp"
#include "jobcore/spec.hpp"

#include <string_view>

namespace signalbox::core::schema {

/// `queue`: that the label names, where it counts; empty: none.
void check_queue(
    const node& metadata, const node& spec, std::string_view queue, findings_collector& findings
);

/// The scheduler that the label asks for. Needs what check_queue has found right.
void add_queue(std::string_view queue, job_spec& spec);

}  // namespace signalbox::core::schema
