// SPDX-License-Identifier: Apache-2.0
//
// An operator whose kinds are not installed says so, and how to install them, and waits.
#pragma once

#include "jobcore/spec.hpp"
#include "k8sio/client.hpp"
#include "k8sio/synchronization.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <spdlog/logger.h>

#include <string_view>
#include <vector>

namespace signalbox::op {

/// What to do on a server that does not serve our kinds.
inline constexpr std::string_view how_to_install =
    "install the CustomResourceDefinitions: signalbox crds | kubectl apply --server-side -f -";

class definitions_wait {
public:
    /// Both must outlive run().
    definitions_wait(
        boost::asio::any_io_executor executor,
        k8sio::client& api,
        spdlog::logger& log,
        std::vector<core::job_kind> kinds
    );

    /// Returns as soon as the server serves a kind of job, at once if it cannot be asked (the
    /// controller waits for a server that is away), or after stop(). Call once.
    boost::asio::awaitable<void> run();
    void stop();
    bool stopped() const { return stopping_; }
    const std::vector<core::job_kind>& kinds() const { return kinds_; }

private:
    k8sio::client* api_;
    spdlog::logger* log_;
    std::vector<core::job_kind> kinds_;
    k8sio::notification wake_;
    k8sio::clock::timer_id timer_ = 0;
    bool stopping_ = false;
};

}  // namespace signalbox::op
