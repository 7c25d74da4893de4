// SPDX-License-Identifier: Apache-2.0
//
// Runs the scenarios of conformance.json over a transport: to the embedded server, or to a real
// one. The table's format is described in the README of libk8sio/server.
#pragma once

#include "k8sio/clock.hpp"
#include "k8sio/transport.hpp"

#include <boost/asio/awaitable.hpp>

#include <rapidjson/document.h>

#include <chrono>
#include <map>
#include <string>

namespace signalbox::k8sio::server::test {

/// Until something that never comes is a failure; whoever waits goes on with the event itself.
inline constexpr std::chrono::seconds patience{300};

/// What a scenario runs against.
class conformance_target {
public:
    conformance_target(k8sio::transport& to, clock& c, std::string run)
        : transport(&to), time(&c), run_id(std::move(run)) {}

    k8sio::transport* transport;
    clock* time;
    std::string run_id;  ///< part of namespace names, so that runs do not meet
};

/// Empty if the scenario holds, else what did not. References must live until completion.
boost::asio::awaitable<std::string> run_scenario(
    conformance_target& target, const rapidjson::Value& scenario, int number
);

}  // namespace signalbox::k8sio::server::test
