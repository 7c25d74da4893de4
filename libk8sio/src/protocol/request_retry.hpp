// SPDX-License-Identifier: Apache-2.0
//
// Whether and when one request is sent again within its deadline (REQUIREMENTS.md R2, R4, R5, R8).
// Only what surely did not happen, or is a read, is repeated; all else is the caller's decision.
#pragma once

#include "k8sio/error.hpp"
#include "k8sio/time.hpp"
#include "protocol/jitter.hpp"

#include <optional>

namespace signalbox::k8sio::protocol {

class request_retry {
public:
    request_retry(int max_retries, steady_time deadline, std::uint64_t seed)
        : left_(max_retries), deadline_(deadline), random_(seed) {}

    /// After a failed attempt: when to try again, or nothing if the error is final.
    std::optional<steady_time> next(const api_error& error, steady_time now);

private:
    std::optional<std::chrono::nanoseconds> delay_after(const api_error& error);

    int left_;
    int unsent_ = 0;
    bool lost_once_ = false;
    steady_time deadline_;
    jitter random_;
};

/// The server's wish, kept within 1..30 s (R2).
std::chrono::seconds clamp_retry_after(std::chrono::seconds wish);

}  // namespace signalbox::k8sio::protocol
