// SPDX-License-Identifier: Apache-2.0
//
// Base64 (RFC 4648) of what goes into objects, headers and files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace signalbox::k8sio {

/// With padding, in one line.
std::string base64_encode(std::string_view bytes);
/// Line ends and blanks are skipped. Nothing if the rest is not base64 with padding.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace signalbox::k8sio
