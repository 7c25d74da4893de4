// SPDX-License-Identifier: Apache-2.0
#include "jobcore/time.hpp"

#include "kubernetes/times.hpp"

namespace signalbox::core {

std::string format_time(instant t) {
    return kubernetes::format_time(t);
}

std::optional<instant> parse_time(std::string_view text) {
    const auto time = kubernetes::scan_time(text);
    if (!time || !time->is_valid() || time->point == ',') {
        return std::nullopt;
    }
    return time->seconds() + std::chrono::floor<milliseconds>(time->fraction);
}

}  // namespace signalbox::core
