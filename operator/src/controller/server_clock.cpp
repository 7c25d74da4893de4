// SPDX-License-Identifier: Apache-2.0
#include "controller/server_clock.hpp"

#include <chrono>

namespace signalbox::op {

core::instant server_clock::now() const {
    return std::chrono::floor<core::milliseconds>(api_->server_now());
}

k8sio::steady_time server_clock::steady_of(core::instant at) const {
    const auto wait = k8sio::wall_time(at) - api_->server_now();
    return steady_now() + std::chrono::duration_cast<k8sio::steady_time::duration>(wait);
}

}  // namespace signalbox::op
