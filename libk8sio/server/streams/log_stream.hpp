// SPDX-License-Identifier: Apache-2.0
//
// What a pod's runtime gives as the body of an answer: one piece is read ahead, the next one when
// the client took it. A client that is slow or gone costs no memory.
#pragma once

#include "k8sio/server/pod_streams.hpp"
#include "server/answers/body_stream.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>
#include <memory>
#include <optional>

namespace signalbox::k8sio::server {

/// `limit_bytes`: where the stream is cut off. `source` is closed with the stream.
std::unique_ptr<body_stream> make_log_stream(
    const boost::asio::any_io_executor& executor,
    std::unique_ptr<byte_source> source,
    std::optional<std::int64_t> limit_bytes
);

}  // namespace signalbox::k8sio::server
