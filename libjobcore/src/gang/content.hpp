// SPDX-License-Identifier: Apache-2.0
//
// The fields of a scheduler's object as JSON, and what of an object that the server has is compared
// with them. A field's name in its row is the way to it: `schedulingPolicy.gang.minCount`.
#pragma once

#include "gang/scheduler.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace signalbox::core::gang {

/// `spec`: one object, in which fields whose names begin alike and follow each other stand in one.
std::string spec_text(object_kind kind, std::span<const field_value> values);

/// A hash of what is said. What is absent, null, false, 0 or an empty text are the same: servers
/// leave such out.
std::uint64_t hash_of(const field_value& value);

/// The same of an object that the server has, by field of its kind's row.
std::vector<std::uint64_t> field_hashes(object_kind kind, const json::value& object);

}  // namespace signalbox::core::gang
