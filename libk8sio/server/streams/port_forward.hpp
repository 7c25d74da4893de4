// SPDX-License-Identifier: Apache-2.0
//
// kubectl port-forward: SPDY/3.1 within a WebSocket. Each connection is a pair of streams with the
// same request id, one for the data and one for what went wrong.
#pragma once

#include "k8sio/server/pod_streams.hpp"
#include "server/answers/socket_session.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <memory>
#include <string>
#include <vector>

namespace signalbox::k8sio::server {

/// The subprotocols that are served, best first.
const std::vector<std::string>& forward_protocols();

/// `pods` must outlive run(); `protocol` is one of forward_protocols().
std::shared_ptr<socket_session> make_port_forward(
    boost::asio::any_io_executor executor, pod_streams& pods, pod_ref pod, std::string protocol
);

}  // namespace signalbox::k8sio::server
