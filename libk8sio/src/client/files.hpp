// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace signalbox::k8sio {

/// The content of a file, or nothing if it cannot be read.
std::optional<std::string> read_whole_file(const std::string& path);

}  // namespace signalbox::k8sio
