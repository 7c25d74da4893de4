// SPDX-License-Identifier: Apache-2.0
#include "manifests/duration.hpp"

#include <charconv>
#include <cmath>
#include <system_error>

namespace signalbox::op {

std::optional<duration> parse_duration(std::string_view text) {
    if (text == "never" || text == "forever") {
        return never;
    }
    double value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || !(value >= 0) || value > 1e6) {
        return std::nullopt;
    }
    const std::string_view unit(stop, static_cast<std::size_t>(end - stop));
    const double factor = unit.empty() || unit == "s" ? 1
                          : unit == "ms"              ? 1e-3
                          : unit == "m"               ? 60
                          : unit == "h"               ? 3600
                          : unit == "d"               ? 86'400
                                                      : -1;
    constexpr double most = 3.6e9;  // seconds, which are few enough for nanoseconds
    if (factor < 0 || value * factor > most) {
        return std::nullopt;
    }
    return std::chrono::nanoseconds(std::llround(value * factor * 1e9));
}

}  // namespace signalbox::op
