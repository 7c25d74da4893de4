// SPDX-License-Identifier: Apache-2.0
//
// When a container that has ended is started again, and when a probe has decided. Pure.
#pragma once

#include "kubelet/pod/pod_spec.hpp"

#include <k8sio/time.hpp>

#include <optional>

namespace signalbox::op::kubelet {

/// The delays of a container that keeps ending: none, 10 s, 20 s ... 5 min, forgotten once it has
/// run for 10 min.
class restart_delay {
public:
    /// When it may start again after a run that ended `now`.
    k8sio::steady_time next(k8sio::steady_time started, k8sio::steady_time now);
    /// That of the last next(), for messages.
    std::chrono::seconds current() const { return current_; }

private:
    std::chrono::seconds current_{0};
    bool ended_before_ = false;
};

/// By the pod's policy and the container's kind.
bool restarts_after(int exit_code, const container_spec& container, restart_policy policy);

/// Counts what one probe says. The first results count from a state of failure, but for a liveness
/// probe.
class probe_count {
public:
    explicit probe_count(bool good_at_first) : good_(good_at_first) {}
    /// True if `good()` has changed, or a failure was confirmed.
    bool add(bool success, const probe& limits);
    bool good() const { return good_; }
    /// The failures are as many as the probe allows in a row.
    bool failed() const { return failed_; }

private:
    bool good_;
    bool failed_ = false;
    bool last_ = false;
    int in_a_row_ = 0;
};

}  // namespace signalbox::op::kubelet
