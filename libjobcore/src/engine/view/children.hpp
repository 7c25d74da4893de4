// SPDX-License-Identifier: Apache-2.0
//
// Children of a job other than pods, and what the server answered to requests for one.
#pragma once

#include "engine/facts/inputs.hpp"

#include <string_view>

namespace signalbox::core::engine {

/// The job's own child of that name, or null; never an object of another owner (BEHAVIOUR.md 1.7).
const child_record* find_child(const inputs& in, object_kind kind, std::string_view name);
const refusal* find_refusal(const inputs& in, object_kind kind, std::string_view name);
/// A live read has shown that the child is not there (BEHAVIOUR.md 5.3).
bool is_confirmed_absent(const inputs& in, object_kind kind, std::string_view name);

/// What a refusal of a pod means (BEHAVIOUR.md 2.8).
enum class refusal_class {
    final,    ///< the same pod will never be accepted
    quota,    ///< there is no room in the quota now
    passing,  ///< something else has to change first: a right, an object that the pod names
};
refusal_class classify(const refusal& r);
/// When what was refused is asked for again (BEHAVIOUR.md 1.8).
instant next_try(const policy& policy, const refusal& r);

}  // namespace signalbox::core::engine
