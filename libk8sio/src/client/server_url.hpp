// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "k8sio/config.hpp"

#include <string>
#include <string_view>

namespace signalbox::k8sio {

/// Takes `https://host:port/prefix` apart into `out`; IPv6 addresses come in brackets. Gives what
/// is wrong with it, or an empty text.
std::string read_server_url(std::string_view url, cluster_config& out);

/// 1 to 65535.
bool is_port(std::string_view text);

}  // namespace signalbox::k8sio
