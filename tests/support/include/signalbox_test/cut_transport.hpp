// SPDX-License-Identifier: Apache-2.0
//
// The way of one process, which a test may cut: requests then hang, as packets that no one answers.
// Streams that are open go on.
#pragma once

#include "k8sio/clock.hpp"
#include "k8sio/transport.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <utility>

namespace signalbox::test {

class cut_transport final : public k8sio::transport {
public:
    cut_transport(std::unique_ptr<k8sio::transport> inner, k8sio::clock& time)
        : inner_(std::move(inner)), time_(&time) {}

    bool cut = false;

    boost::asio::awaitable<k8sio::result<k8sio::http_response>> exchange(
        const k8sio::http_request& request, k8sio::steady_time deadline
    ) override {
        k8sio::api_error error;
        if (cut) {
            const bool reached = co_await k8sio::sleep_until(*time_, deadline);
            error.code = reached ? k8sio::errc::timeout : k8sio::errc::cancelled;
            co_return error;
        }
        co_return co_await inner_->exchange(request, deadline);
    }
    boost::asio::awaitable<k8sio::result<std::unique_ptr<k8sio::response_stream>>> open_stream(
        const k8sio::http_request& request, std::chrono::nanoseconds idle
    ) override {
        return inner_->open_stream(request, idle);
    }

private:
    std::unique_ptr<k8sio::transport> inner_;
    k8sio::clock* time_;
};

}  // namespace signalbox::test
