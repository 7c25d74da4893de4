// SPDX-License-Identifier: Apache-2.0
//
// The documents of OpenAPI, made from the kinds served now.
#pragma once

#include "server/store/registry.hpp"

#include <string>
#include <string_view>

namespace signalbox::k8sio::server {

std::string openapi_v2(const registry& kinds);
/// The same document, without definitions, as clients read it that know no JSON here.
std::string openapi_v2_protobuf();
std::string openapi_v3_index(const registry& kinds);
/// `path` is `api/v1` or `apis/<group>/<version>`; empty if there is none.
std::string openapi_v3_document(const registry& kinds, std::string_view path);

}  // namespace signalbox::k8sio::server
