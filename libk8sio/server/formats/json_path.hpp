// SPDX-License-Identifier: Apache-2.0
//
// The subset of JSONPath that printer columns and scale paths use: `.a.b`, `['a']`, `['a','b']`,
// `[0]`, `[-1:]`, `[*]`, and filters `[?(@.type=="Ready")]`.
#pragma once

#include "server/values/json.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace signalbox::k8sio::server {

/// All values that `path` selects; empty for a path that is not understood.
std::vector<const json::value*> json_path(const json::value& root, std::string_view path);

/// The one value of a path of names only (`.spec.replicas`), or nullptr.
const json::value* simple_path(const json::value& root, std::string_view path);
/// Sets it, making the objects on the way.
void set_simple_path(json::value& root, std::string_view path, json::value v, json::arena& a);

}  // namespace signalbox::k8sio::server
