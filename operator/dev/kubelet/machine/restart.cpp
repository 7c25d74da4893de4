// SPDX-License-Identifier: Apache-2.0
#include "kubelet/machine/restart.hpp"

#include <algorithm>

namespace signalbox::op::kubelet {

namespace {

constexpr std::chrono::seconds first_delay{10};
constexpr std::chrono::seconds longest_delay{300};
constexpr std::chrono::minutes good_run{10};

}  // namespace

k8sio::steady_time restart_delay::next(k8sio::steady_time started, k8sio::steady_time now) {
    if (now - started >= good_run) {
        *this = restart_delay();
    }
    if (ended_before_) {
        current_ = current_.count() == 0 ? first_delay : std::min(current_ * 2, longest_delay);
    }
    ended_before_ = true;
    return now + current_;
}

bool restarts_after(int exit_code, const container_spec& container, restart_policy policy) {
    if (container.sidecar) {
        return true;
    }
    if (container.init) {
        return exit_code != 0 && policy != restart_policy::never;
    }
    return policy == restart_policy::always ||
           (policy == restart_policy::on_failure && exit_code != 0);
}

bool probe_count::add(bool success, const probe& limits) {
    in_a_row_ = in_a_row_ > 0 && success == last_ ? in_a_row_ + 1 : 1;
    last_ = success;
    const bool was = good_;
    if (in_a_row_ >= (success ? limits.successes : limits.failures)) {
        good_ = success;
        failed_ = !success;
        return was != good_ || failed_;
    }
    return false;
}

}  // namespace signalbox::op::kubelet
