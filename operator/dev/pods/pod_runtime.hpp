// SPDX-License-Identifier: Apache-2.0
//
// What makes pods live: the interface that stands in for scheduler and kubelet. It works
// through the API alone, so that it serves the embedded and a real API server alike.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <cstdint>

namespace signalbox::op::pods {

/// Counts since construction, for progress lines and tests.
struct runtime_counters {
    std::uint64_t bound = 0;
    std::uint64_t started = 0;
    std::uint64_t ended = 0;
    std::uint64_t removed = 0;
    std::uint64_t errors = 0;  ///< writes that failed for another reason than a pod that is gone
};

class pod_runtime {
public:
    virtual ~pod_runtime() = default;

    /// Looks after pods until stop(); returns when nothing of it is pending any more. Call once.
    virtual boost::asio::awaitable<void> run() = 0;
    virtual void stop() = 0;
    virtual const runtime_counters& counters() const = 0;
};

}  // namespace signalbox::op::pods
