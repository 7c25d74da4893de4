// SPDX-License-Identifier: Apache-2.0
//
// The documents of discovery, made from the kinds served now.
#pragma once

#include "server/store/registry.hpp"

#include <string>
#include <string_view>

namespace signalbox::k8sio::server {

std::string discovery_versions();
std::string discovery_groups(const registry& kinds);
std::string discovery_group(const registry& kinds, std::string_view group);
std::string discovery_resources(
    const registry& kinds, std::string_view group, std::string_view version
);
enum class api_root { core, groups };
std::string aggregated_discovery(const registry& kinds, api_root root);

}  // namespace signalbox::k8sio::server
