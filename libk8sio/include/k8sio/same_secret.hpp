// SPDX-License-Identifier: Apache-2.0
//
// How a server compares what a client sent with what it should have sent.
#pragma once

#include <string_view>

namespace signalbox::k8sio {

/// True if both are the same. Takes as long for a wrong text as for a right one of its length, so
/// that no one learns a secret byte by byte.
bool same_secret(std::string_view x, std::string_view y);

}  // namespace signalbox::k8sio
