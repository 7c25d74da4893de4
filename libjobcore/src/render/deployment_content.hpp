// SPDX-License-Identifier: Apache-2.0
//
// What of our own TensorBoard's Deployment must be as we write it (BEHAVIOUR.md 2.13). The server
// fills its specification with defaults, and admission adds to it, rewrites images or wraps
// commands: hence neither a hash of all of it, nor the annotation that says what we meant, which
// anybody can copy.
#pragma once

#include "json/json.hpp"

#include <cstdint>

namespace signalbox::core {

/// Of `spec` of a Deployment: what runs, with which claims and Secrets, as whom. Anything else in
/// it, and what others add, makes no difference.
std::uint64_t deployment_content(const json::value& spec);

}  // namespace signalbox::core
