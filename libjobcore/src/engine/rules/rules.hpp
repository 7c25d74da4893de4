// SPDX-License-Identifier: Apache-2.0
//
// The rules that record something. Each takes facts and gives what it would record, or nothing;
// rules.cpp has their order.
#pragma once

#include "engine/rules/open.hpp"
#include "engine/rules/record.hpp"

#include <optional>

namespace signalbox::core::engine {

/// The first rule that applies (BEHAVIOUR.md 12.3).
std::optional<record> first_record(const context& c, const health& h, const open_questions& open);

// rules/end.cpp
std::optional<record> end_by_success(const context& c, const health& h, const open_questions& open);
std::optional<record> end_by_deciding_pod(
    const context& c, const health& h, const open_questions& open
);
std::optional<record> end_by_deadline(
    const context& c, const health& h, const open_questions& open
);
// rules/pause.cpp
std::optional<record> judge_before_pause(
    const context& c, const health& h, const open_questions& open
);
std::optional<record> begin_pause(const context& c, const health& h, const open_questions& open);
std::optional<record> end_pause(const context& c, const health& h, const open_questions& open);
// rules/incident.cpp
std::optional<record> begin_first_attempt(
    const context& c, const health& h, const open_questions& open
);
std::optional<record> let_exit_settle(
    const context& c, const health& h, const open_questions& open
);
std::optional<record> answer_losses(const context& c, const health& h, const open_questions& open);
std::optional<record> answer_lost_keys(
    const context& c, const health& h, const open_questions& open
);
std::optional<record> answer_stall(const context& c, const health& h, const open_questions& open);
// rules/quota.cpp
std::optional<record> follow_quota(const context& c, const health& h, const open_questions& open);
// rules/scheduler.cpp
std::optional<record> settle_scheduler(
    const context& c, const health& h, const open_questions& open
);
// rules/repeat.cpp, rules/size.cpp, rules/rename.cpp
std::optional<record> repeat_replicas(
    const context& c, const health& h, const open_questions& open
);
std::optional<record> follow_types(const context& c, const health& h, const open_questions& open);
std::optional<record> follow_size(const context& c, const health& h, const open_questions& open);
std::optional<record> rename_stuck(const context& c, const health& h, const open_questions& open);

}  // namespace signalbox::core::engine
