// SPDX-License-Identifier: Apache-2.0
//
// HTTP/1.1 over byte streams: one pool for unary requests, one connection of its own for each
// stream.
#pragma once

#include "protocol/http_framing.hpp"
#include "transport/byte_stream.hpp"
#include "transport/connection_pool.hpp"
#include "transport/login.hpp"

#include <memory>
#include <string>

namespace signalbox::k8sio {

class http_transport final : public transport {
public:
    http_transport(
        clock& time,
        std::unique_ptr<connector> to_server,
        protocol::request_frame frame,
        std::unique_ptr<login> credentials,
        http_transport_options options
    );

    boost::asio::awaitable<result<http_response>> exchange(
        const http_request& request, steady_time deadline
    ) override;
    boost::asio::awaitable<result<std::unique_ptr<response_stream>>> open_stream(
        const http_request& request, std::chrono::nanoseconds idle
    ) override;

private:
    boost::asio::awaitable<result<http_response>> exchange_task(
        const http_request& request, steady_time deadline
    );
    boost::asio::awaitable<result<http_response>> attempt(
        const http_request& request, const protocol::access& access, steady_time deadline
    );
    boost::asio::awaitable<result<std::unique_ptr<response_stream>>> open_task(
        const http_request& request, std::chrono::nanoseconds idle
    );
    boost::asio::awaitable<result<std::unique_ptr<response_stream>>> open_attempt(
        const http_request& request, const protocol::access& access, std::chrono::nanoseconds idle
    );
    /// Sends `bytes`, the request, and reads the header of the answer. `keys_number`: that of the
    /// keys of the connection.
    boost::asio::awaitable<result<std::unique_ptr<response_stream>>> open_on(
        std::unique_ptr<byte_stream> connection,
        std::string_view bytes,
        steady_time until,
        std::chrono::nanoseconds idle,
        std::uint64_t keys_number
    );
    /// The bytes of the request. New keys go to the connector first.
    result<std::string> prepare(const http_request& request, const protocol::access& access);
    /// No connection came about.
    void note_failure(const api_error& error);
    steady_time now() const { return time_->steady_now(); }

    clock* time_;
    std::unique_ptr<connector> connector_;
    protocol::request_frame frame_;
    std::unique_ptr<login> credentials_;
    std::uint64_t keys_number_ = 0;  // of the keys that the connector has
    http_transport_options options_;
    connection_pool pool_;
};

}  // namespace signalbox::k8sio
