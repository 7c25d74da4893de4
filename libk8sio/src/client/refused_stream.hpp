// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "k8sio/transport.hpp"

#include <boost/asio/awaitable.hpp>

namespace signalbox::k8sio {

/// The error that the body of a refused stream carries. Both must outlive it.
boost::asio::awaitable<api_error> read_refusal(
    const http_request& request, response_stream& stream
);

}  // namespace signalbox::k8sio
