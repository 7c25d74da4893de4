// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pods/scenario.hpp"

#include <string>

namespace signalbox::op::cli {

/// Reads the scenario file at `path`; an empty path is an empty scenario. False with `error` set if
/// it cannot be read or makes no sense.
bool load_scenario(const std::string& path, pods::scenario& into, std::string& error);

}  // namespace signalbox::op::cli
