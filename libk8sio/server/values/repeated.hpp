// SPDX-License-Identifier: Apache-2.0
//
// Members of an object that have one name. RapidJSON keeps them all, and finds the first; Go, and
// so the real server, takes the last.
#pragma once

#include "server/values/json.hpp"

#include <string>
#include <vector>

namespace signalbox::k8sio::server::json {

/// Of members with one name only the last stays, at any depth. Gives the paths of names that came
/// again, as Go's strict decoder does: `spec.ports[0].name`, each once, at most 100.
std::vector<std::string> drop_repeated(value& v);

}  // namespace signalbox::k8sio::server::json
