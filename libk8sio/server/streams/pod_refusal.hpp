// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "k8sio/server/pod_streams.hpp"
#include "server/values/refusal.hpp"

namespace signalbox::k8sio::server {

/// What a client is told of an error of a pod's runtime.
refusal refusal_of(const api_error& error);

}  // namespace signalbox::k8sio::server
