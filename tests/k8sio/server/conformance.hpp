// SPDX-License-Identifier: Apache-2.0
//
// Runs the scenarios of conformance.json over a transport: to the embedded server, or to a real
// one. The table's format is described in the README of libk8sio/src/server.
#pragma once

#include "k8sio/clock.hpp"
#include "k8sio/transport.hpp"

#include <boost/asio/awaitable.hpp>

#include <rapidjson/document.h>

#include <map>
#include <string>

namespace signalbox::k8sio::server::test {

/// What a scenario runs against.
class conformance_target {
public:
    conformance_target(transport& to, clock& c, std::string run)
        : way(&to), time(&c), run_id(std::move(run)) {}

    transport* way;
    clock* time;
    std::string run_id;  ///< part of namespace names, so that runs do not meet
};

/// Empty if the scenario holds, else what did not. References must live until completion.
boost::asio::awaitable<std::string> run_scenario(
    conformance_target& target, const rapidjson::Value& scenario, int number
);

/// Sends one request, e.g. of a set-up. Gives the status, 0 if there was no answer.
boost::asio::awaitable<int> send_simple(
    conformance_target& target, std::string method, std::string path, std::string body
);

}  // namespace signalbox::k8sio::server::test
