// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace signalbox::op {

/// Appends `text` as a JSON string. It must be valid UTF-8.
void append_json_string(std::string& out, std::string_view text);

}  // namespace signalbox::op
