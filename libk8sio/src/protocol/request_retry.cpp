// SPDX-License-Identifier: Apache-2.0
#include "protocol/request_retry.hpp"

#include <algorithm>

namespace signalbox::k8sio::protocol {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

seconds clamp_retry_after(seconds wish) {
    return std::clamp(wish, seconds{1}, seconds{30});
}

std::optional<nanoseconds> request_retry::delay_after(const api_error& error) {
    switch (error.code) {
        case errc::http_status:
            // The server took the request back before it did anything.
            if ((error.http_status == 429 || error.http_status == 503) && error.retry_after) {
                return clamp_retry_after(*error.retry_after) + random_.below(milliseconds{250});
            }
            return std::nullopt;
        case errc::resolve:
        case errc::connect:
        case errc::tls: {
            const nanoseconds base = milliseconds{100} * (1 << std::min(unsent_++, 6));
            return base + random_.below(base);
        }
        case errc::connection_lost:
            // R4: the common cause is a kept connection that the server had closed.
            if (error.method == "GET" && !lost_once_) {
                lost_once_ = true;
                return nanoseconds{0};
            }
            return std::nullopt;
        case errc::invalid_argument:
        case errc::credentials:  // the program has a pace of its own
        case errc::timeout:
        case errc::bad_response:
        case errc::too_large:
        case errc::cancelled:
            return std::nullopt;
    }
    return std::nullopt;
}

std::optional<steady_time> request_retry::next(const api_error& error, steady_time now) {
    if (left_ <= 0) {
        return std::nullopt;
    }
    const auto delay = delay_after(error);
    if (!delay) {
        return std::nullopt;
    }
    const steady_time at = now + std::chrono::duration_cast<steady_time::duration>(*delay);
    if (at >= deadline_) {
        return std::nullopt;
    }
    --left_;
    return at;
}

}  // namespace signalbox::k8sio::protocol
