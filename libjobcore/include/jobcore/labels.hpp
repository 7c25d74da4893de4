// SPDX-License-Identifier: Apache-2.0
//
// Labels of children that somebody has changed (BEHAVIOUR.md 1.6, 2.7). Depends on the arguments
// alone; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core {

/// A merge patch that gives the live object the labels of ours which `wanted` has and it has not;
/// nothing if all are there. `attempt` and `round` are never patched (BEHAVIOUR.md 2.7), and labels
/// of the user are left as they are.
std::optional<std::string> label_patch(std::string_view wanted, std::string_view live);

/// Keys of the labels of ours that `wanted` has, and `live` has not or with another value.
std::vector<std::string> lost_labels(std::string_view wanted, std::string_view live);

}  // namespace signalbox::core
