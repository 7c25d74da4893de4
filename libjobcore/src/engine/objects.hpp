// SPDX-License-Identifier: Apache-2.0
//
// Children of a job other than pods: what is missing of them, and what the server said to that.
#pragma once

#include "engine/pass.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace signalbox::core::engine {

/// The job's own child of that name; never an object of another owner (BEHAVIOUR.md 1.7).
const child_record* find_child(const pass& p, object_kind kind, std::string_view name);
const refusal* find_refusal(const pass& p, object_kind kind, std::string_view name);
/// A live read has shown that the child is not there (BEHAVIOUR.md 5.3).
bool is_confirmed_absent(const pass& p, object_kind kind, std::string_view name);

action remove_child(const child_record& child, std::string why, std::string_view rule);

/// The server refused for want of quota, not for good (2.8).
bool is_quota(const refusal& r);
/// When what was refused is asked for again (1.8).
instant next_try(const pass& p, const refusal& r);
/// Holds a refused action until its next try (1.8).
void hold(pass& p, action& a, const refusal& r);
/// Says for what the job waits because of that refusal.
void tell_refusal(pass& p, const refusal& r);

/// What one planned object needs.
struct object_need {
    std::optional<action> act;         ///< nothing: it is there as wanted, or cannot be helped now
    const refusal* refused = nullptr;  ///< the action was refused before and is held
    bool being_deleted = false;        ///< its name becomes free later
};

/// `number` as in find_object.
object_need need_of(pass& p, std::size_t number);

/// Makes the planned objects and mends them, in their order (2.1, 2.6, 2.7). True if all are there
/// as wanted, so that pods may follow.
bool ensure_objects(pass& p);

/// ConfigMaps of older attempts of which no pod is left (5.7).
void remove_old_config_maps(pass& p);

}  // namespace signalbox::core::engine
