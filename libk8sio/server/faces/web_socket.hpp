// SPDX-License-Identifier: Apache-2.0
//
// A connection that has become a WebSocket. Beast's code for that is in web_socket.cpp only.
#pragma once

#include "k8sio/clock.hpp"
#include "server/answers/socket_session.hpp"
#include "serving/connection.hpp"

#include <memory>

namespace signalbox::k8sio::server {

/// Answers the upgrade that was asked for on `connection` and runs `session` on it, beginning one
/// step of the loop later.
///
/// Lifetimes: `time` until close() was called or the connection is gone.
std::shared_ptr<serving::open_connection> serve_web_socket(
    serving::taken_connection connection, std::shared_ptr<socket_session> session, clock& time
);

}  // namespace signalbox::k8sio::server
