// SPDX-License-Identifier: Apache-2.0
//
// In whose name requests are made (REQUIREMENTS.md C5).
#pragma once

#include "k8sio/config.hpp"

#include <string>
#include <utility>
#include <vector>

namespace signalbox::k8sio {

/// What is wrong with it, or an empty text.
std::string check_impersonation(const impersonation& as);

/// The headers of each request, in the order in which kubectl sends them.
std::vector<std::pair<std::string, std::string>> impersonation_headers(const impersonation& as);

}  // namespace signalbox::k8sio
