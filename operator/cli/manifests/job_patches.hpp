// SPDX-License-Identifier: Apache-2.0
//
// The merge patches of `signalbox pause`, `resume` and `scale`. A job that was made anew under its
// name is another one: its UID is in each patch.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace signalbox::op::manifests {

std::string pause_patch(std::string_view uid, bool paused);

/// Of the subresource `scale`.
std::string scale_patch(std::string_view uid, std::int32_t replicas);

}  // namespace signalbox::op::manifests
