// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace signalbox::k8sio::protocol {

std::string base64_encode(std::string_view bytes);
/// Line ends and blanks are skipped. Nothing if the rest is not base64 with padding.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace signalbox::k8sio::protocol
