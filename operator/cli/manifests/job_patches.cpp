// SPDX-License-Identifier: Apache-2.0
#include "manifests/job_patches.hpp"

#include <jobcore/strings.hpp>

#include <fmt/format.h>

namespace signalbox::op::manifests {

std::string pause_patch(std::string_view uid, bool paused) {
    return fmt::format(
        R"({{"metadata":{{"uid":{}}},"spec":{{"runMode":{{"pause":{{"enabled":{}}}}}}}}})",
        core::json_string(uid),
        paused
    );
}

std::string scale_patch(std::string_view uid, std::int32_t replicas) {
    return fmt::format(
        R"({{"metadata":{{"uid":{}}},"spec":{{"replicas":{}}}}})", core::json_string(uid), replicas
    );
}

}  // namespace signalbox::op::manifests
