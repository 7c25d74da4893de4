// SPDX-License-Identifier: Apache-2.0
//
// The kinds that every cluster has.
#pragma once

#include "server/kinds/kind_info.hpp"

#include <vector>

namespace signalbox::k8sio::server {

/// In the order in which discovery lists them.
std::vector<kind_info> built_in_kinds();

}  // namespace signalbox::k8sio::server
