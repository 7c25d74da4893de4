// SPDX-License-Identifier: Apache-2.0
//
// Ages, as tables show them.
#pragma once

#include "k8sio/clock.hpp"

#include <string>
#include <string_view>

namespace signalbox::k8sio::server {

/// kubectl's short form of how long ago a time of the API was: `5s`, `3m20s`, `2d`.
std::string age(std::string_view api_time, wall_time now);

}  // namespace signalbox::k8sio::server
