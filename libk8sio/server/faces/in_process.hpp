// SPDX-License-Identifier: Apache-2.0
//
// The face without sockets: a transport whose requests reach the model through the executor.
#pragma once

#include "k8sio/transport.hpp"
#include "server/faces/reception.hpp"

#include <memory>

namespace signalbox::k8sio::server {

std::unique_ptr<transport> make_in_process_transport(std::weak_ptr<reception> door);

}  // namespace signalbox::k8sio::server
