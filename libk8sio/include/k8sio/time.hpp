// SPDX-License-Identifier: Apache-2.0
//
// The two kinds of points in time.
#pragma once

#include <chrono>

namespace signalbox::k8sio {

/// Of a clock that never goes back: deadlines, delays.
using steady_time = std::chrono::steady_clock::time_point;
/// Date and time.
using wall_time = std::chrono::system_clock::time_point;

}  // namespace signalbox::k8sio
