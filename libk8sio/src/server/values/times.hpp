// SPDX-License-Identifier: Apache-2.0
//
// Times as texts.
#pragma once

#include "k8sio/clock.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace signalbox::k8sio::server {

std::string rfc3339(wall_time t);    ///< `2026-01-31T12:00:00Z`
std::string http_date(wall_time t);  ///< `Sat, 31 Jan 2026 12:00:00 GMT`
/// False if `text` is no RFC 3339 time.
bool parse_time(std::string_view text, wall_time& t);
/// kubectl's short form of an age: `5s`, `3m20s`, `2d`.
std::string age(std::string_view rfc3339_text, wall_time now);
std::string short_duration(std::chrono::seconds d);

}  // namespace signalbox::k8sio::server
