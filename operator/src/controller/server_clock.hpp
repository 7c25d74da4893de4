// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jobcore/time.hpp"
#include "k8sio/client.hpp"

namespace signalbox::op {

/// The time that decisions go by, and the one of timers. A small value; the client must outlive it.
class server_clock {
public:
    explicit server_clock(k8sio::client& api) : api_(&api) {}

    /// API-server time (BEHAVIOUR.md 12.8).
    core::instant now() const;
    k8sio::steady_time steady_now() const { return api_->time().steady_now(); }
    /// The steady time at which now() reaches `at`.
    k8sio::steady_time steady_of(core::instant at) const;

private:
    k8sio::client* api_;
};

}  // namespace signalbox::op
