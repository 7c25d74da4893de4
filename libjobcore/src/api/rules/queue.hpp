// SPDX-License-Identifier: Apache-2.0
//
// The queue of Kueue that a job names, by a field or by a label (BEHAVIOUR.md 8.10); the scheduler
// that was chosen for it (BEHAVIOUR.md 8.15).
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

/// The scheduler of that name with the defaults of its fields, if the job leaves it open and there
/// is one; not Kueue, which needs a queue. `scheduler`: the field.
void add_chosen(std::string_view chosen, const node& scheduler, job_spec& spec);

}  // namespace signalbox::core::schema
