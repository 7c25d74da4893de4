// SPDX-License-Identifier: Apache-2.0
//
// How a job stands that asks a scheduler for quota (BEHAVIOUR.md 8.11-8.14).
#pragma once

#include "engine/view/view.hpp"
#include "gang/scheduler.hpp"

#include <optional>
#include <string>
#include <vector>

namespace signalbox::core::engine {

/// What asks for quota.
struct quota_view {
    const gang::quota_scheme* scheme = nullptr;
    const planned_object* object = nullptr;
    const child_record* child = nullptr;  ///< it, in view; null: it is not
    const quota_answer* says = nullptr;   ///< what it says; null: it is not in view
    bool served = false;                  ///< what is not in view is not there
};

/// Nothing if the job's scheduler gives no quota.
std::optional<quota_view> find_quota(const inputs& in);

/// It asks for all that the specification wants.
bool asks_for_all(const inputs& in, const quota_answer& says);

/// What is reserved is enough for what the specification wants, and for the pods of the attempt.
bool is_enough(const context& c, const quota_answer& says);

/// The quota that is reserved can be taken, once it is on record.
bool can_take(const context& c, const quota_view& q);

/// What the recorded admission is worth no more for, in words; nothing: it lasts, or that is not
/// known yet.
std::optional<std::string> why_lost(const context& c, const quota_view& q);

/// Objects of the cluster that have to be read before an admission can be recorded.
std::vector<gang::named_object> unread_flavors(const inputs& in, const quota_view& q);

/// What was read of that object; null: nothing.
const object_reading* find_reading(const inputs& in, const gang::named_object& of);

/// The value of the job's priority class, where it was read.
std::optional<std::int32_t> priority_read(const inputs& in);

/// Pods of the job that take quota: whoever has not ended, and is not stuck in its deletion.
struct quota_holders {
    bool any = false;
    bool stopping = false;           ///< some of them are being deleted
    std::optional<instant> until{};  ///< when the first of those counts as stuck
};
quota_holders find_quota_holders(const context& c);

}  // namespace signalbox::core::engine
