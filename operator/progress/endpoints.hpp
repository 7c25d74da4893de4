// SPDX-License-Identifier: Apache-2.0
//
// Where the Service of the receiver leads: to the process that decides, where there are several
// (BEHAVIOUR.md 13.11). The Service has no selector; the leader writes its EndpointSlice.
#pragma once

#include <k8sio/client.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <spdlog/logger.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace signalbox::op::progress {

/// What is written. A name stands for the Service and for the slice.
struct endpoint {
    std::string ns, service;
    std::string address;  ///< of this pod
    std::uint16_t port = 0;
};

/// The EndpointSlice that leads the Service to this endpoint alone, JSON.
std::string slice_of(const endpoint& to);

/// Writes it as long as this process leads: at once, and again every 10 s.
///
/// Thread: that of `executor`.
class endpoint_writer {
public:
    /// `api` must outlive the last write. A null `log` logs nothing.
    endpoint_writer(
        boost::asio::any_io_executor executor,
        k8sio::client& api,
        endpoint to,
        std::shared_ptr<spdlog::logger> log
    );
    ~endpoint_writer() { stop(); }
    endpoint_writer(const endpoint_writer&) = delete;
    endpoint_writer& operator=(const endpoint_writer&) = delete;

    /// To be called often while this process leads, and not else: writes if it is time to.
    void lead();
    /// A write under way is cut off.
    void stop();

private:
    struct shared_state {
        bool stopped = false;
        bool writing = false;
        bool complained = false;
        boost::asio::cancellation_signal cut;
    };
    static boost::asio::awaitable<void> write(
        std::shared_ptr<shared_state> shared,
        k8sio::client& api,
        std::string ns,
        std::string name,
        std::string body,
        std::shared_ptr<spdlog::logger> log
    );

    boost::asio::any_io_executor executor_;
    k8sio::client* api_;
    endpoint to_;
    std::shared_ptr<spdlog::logger> log_;
    std::shared_ptr<shared_state> shared_ = std::make_shared<shared_state>();
    k8sio::steady_time next_;
};

}  // namespace signalbox::op::progress
