// SPDX-License-Identifier: Apache-2.0
//
// Termination messages (LAUNCH.md 1.6). Pure.
#pragma once

#include <string>
#include <string_view>

namespace signalbox::op::kubelet {

/// Bytes of a message where a pod has so many containers: 4,096, and 12 kB for all of a pod.
std::size_t message_limit(std::size_t containers);

/// The end of a log in the format of log_file as a message: 80 lines, 2,048 bytes.
std::string message_of_log(std::string_view log);

}  // namespace signalbox::op::kubelet
