// SPDX-License-Identifier: Apache-2.0
//
// The record of attempts, rounds and replica states in status (BEHAVIOUR.md api 5.4).
#pragma once

#include "engine/facts/reasons.hpp"
#include "jobcore/plan.hpp"
#include "jobcore/status.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace signalbox::core::engine {

const index_set* find_indexes(const std::vector<typed_indexes>& list, std::string_view type);
void insert_index(std::vector<typed_indexes>& list, std::string_view type, std::int32_t index);
void erase_index(std::vector<typed_indexes>& list, std::string_view type, std::int32_t index);
/// Of a type that is in the list, which it leaves without indexes.
void set_indexes(std::vector<typed_indexes>& list, std::string_view type, index_set indexes);

const task_status* find_task(const job_status& status, std::string_view type);

/// Replicas in force (BEHAVIOUR.md 7.2): the recorded size, else the plan's.
std::int32_t wanted_in_force(const job_status& status, const type_plan& type);
std::vector<std::int32_t> wanted_in_force(const job_status& status, const job_plan& plan);

/// Replicas of the type that are completed or given up (BEHAVIOUR.md 8.6).
std::int32_t replicas_ended(const job_status& status, std::string_view type);

/// A fact that was told by an event and still lasts (BEHAVIOUR.md 11.2).
bool is_told(const job_status& status, reason what);

/// The condition of that type, or null. Valid until `status.conditions` changes.
const condition* find_condition(const job_status& status, condition_type type);

/// The next number after `n`. After the last one that a status can hold it is 1 again: any other
/// number means another attempt, round or name.
std::int32_t next_number(std::int32_t n);
/// One more, unless a status could not hold it.
void raise_count(std::int32_t& count);

/// What belongs to this attempt alone is forgotten, and its pods are old by record from now on
/// (5.3). Counts, streaks, sizes and the last incident stay.
void leave_attempt(job_status& status);

/// Begins the next attempt, with sizes from the plan.
void raise_attempt(job_status& status, const job_plan& plan);

/// Begins the next round of one index: its pod is old by record from now on (5.3, 5.7).
void raise_round(job_status& status, std::string_view type, std::int32_t index);

/// Its pod was replaced in this attempt: raise_round needs no further entry for it.
bool is_replaced(const job_status& status, std::string_view type, std::int32_t index);

}  // namespace signalbox::core::engine
