// SPDX-License-Identifier: Apache-2.0
#include "server/values/times.hpp"

#include "protocol/http_date.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>

namespace signalbox::k8sio::server {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

std::string short_duration(std::chrono::seconds d) {
    // k8s.io/apimachinery/pkg/util/duration.HumanDuration.
    const std::int64_t s = d.count();
    const std::int64_t minutes = s / 60;
    const std::int64_t hours = s / 3600;
    const std::int64_t days = hours / 24;
    if (s < -1) {
        return "<invalid>";
    }
    if (s < 0) {
        return "0s";
    }
    if (s < 120) {
        return fmt::format("{}s", s);
    }
    if (minutes < 10) {
        return s % 60 == 0 ? fmt::format("{}m", minutes) : fmt::format("{}m{}s", minutes, s % 60);
    }
    if (minutes < 180) {
        return fmt::format("{}m", minutes);
    }
    if (hours < 8) {
        return minutes % 60 == 0 ? fmt::format("{}h", hours)
                                 : fmt::format("{}h{}m", hours, minutes % 60);
    }
    if (hours < 48) {
        return fmt::format("{}h", hours);
    }
    if (hours < 192) {
        return hours % 24 == 0 ? fmt::format("{}d", days) : fmt::format("{}d{}h", days, hours % 24);
    }
    if (days < 730) {
        return fmt::format("{}d", days);
    }
    return fmt::format("{}y{}d", days / 365, days % 365);
}

}  // namespace

std::string age(std::string_view api_time, wall_time now) {
    if (api_time.empty()) {
        return "<unknown>";
    }
    const auto time = protocol::parse_api_time(api_time);
    if (!time) {
        return "<invalid>";
    }
    if (*time == wall_time::min()) {  // Go's zero time is none
        return "<unknown>";
    }
    // As microseconds any two times have a difference.
    const microseconds passed = std::chrono::time_point_cast<microseconds>(now) -
                                std::chrono::time_point_cast<microseconds>(*time);
    return short_duration(std::chrono::duration_cast<seconds>(passed));
}

}  // namespace signalbox::k8sio::server
