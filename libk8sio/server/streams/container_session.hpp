// SPDX-License-Identifier: Apache-2.0
//
// exec and attach over a WebSocket, subprotocols v5.channel.k8s.io and v4.channel.k8s.io: the first
// byte of each message is its channel.
#pragma once

#include "k8sio/server/pod_streams.hpp"
#include "server/answers/socket_session.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <memory>
#include <string>
#include <vector>

namespace signalbox::k8sio::server {

enum class container_verb { exec, attach };

/// The subprotocols that are served, best first.
const std::vector<std::string>& container_protocols();

/// `pods` must outlive run(); `protocol` is one of container_protocols().
std::shared_ptr<socket_session> make_container_session(
    boost::asio::any_io_executor executor,
    pod_streams& pods,
    container_verb verb,
    pod_ref pod,
    process_options options,
    std::string protocol
);

}  // namespace signalbox::k8sio::server
