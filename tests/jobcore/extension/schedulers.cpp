// SPDX-License-Identifier: Apache-2.0
//
// In place of the library's gang/schedulers.cpp.
#include "extension/process_job.hpp"
#include "gang/t9k.hpp"

#include <array>

namespace signalbox::core {

std::span<const gang::scheduler* const> gang::all_schedulers() {
    static constexpr std::array all{&t9k, &gated, &ticketed, &counted, &metered};
    return all;
}

std::span<const object_kind> all_child_kinds() {
    static const std::array kinds{
        object_kind::pod,
        object_kind::service,
        object_kind::secret,
        object_kind::config_map,
        object_kind::deployment,
        object_kind::pod_group,
        gang::gated.objects[0],
        gang::gated.objects[1],
        gang::ticketed.objects[0],
        gang::counted.objects[0],
        gang::metered.objects[0],
        object_kind::tensorboard};
    return kinds;
}

}  // namespace signalbox::core
