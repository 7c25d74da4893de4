// SPDX-License-Identifier: Apache-2.0
//
// The shell of protocol/dial: one socket for each address that is tried.
#pragma once

#include "k8sio/clock.hpp"
#include "k8sio/error.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <vector>

namespace signalbox::k8sio {

/// Connects to the first of `endpoints`, tried in that order, that answers by `until`. `losers`
/// gets those that were tried and have failed or hang; it must live until completion. Errors:
/// connect, cancelled; nothing was sent.
boost::asio::awaitable<result<boost::asio::ip::tcp::socket>> connect_to_any(
    boost::asio::any_io_executor executor,
    clock& time,
    const std::vector<boost::asio::ip::tcp::endpoint>& endpoints,
    steady_time until,
    std::vector<boost::asio::ip::tcp::endpoint>& losers
);

}  // namespace signalbox::k8sio
