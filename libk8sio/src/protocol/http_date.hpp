// SPDX-License-Identifier: Apache-2.0
//
// Times as texts: the `Date` header and the timestamps of the API.
#pragma once

#include "k8sio/time.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace signalbox::k8sio::protocol {

/// `Sun, 06 Nov 1994 08:49:37 GMT`; nothing if it is anything else (format_http_date() gives the
/// same text again), or a year that wall_time does not reach (1678 to 2261).
std::optional<wall_time> parse_http_date(std::string_view text);
/// What a fraction of a second has is left out.
std::string format_http_date(wall_time time);
/// `1994-11-06T08:49:37Z`, also with a fraction and another offset; nothing if it is anything else.
/// What wall_time does not reach is its first or last value.
std::optional<wall_time> parse_api_time(std::string_view text);
/// `1994-11-06T08:49:37Z`, as metav1.Time has it.
std::string format_api_time(wall_time time);
/// `1994-11-06T08:49:37.000000Z`, as metav1.MicroTime has it.
std::string format_micro_time(wall_time time);

}  // namespace signalbox::k8sio::protocol
