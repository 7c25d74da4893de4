// SPDX-License-Identifier: Apache-2.0
//
// CustomResourceDefinitions of another version than the program: what the server drops, and what
// the program does not know (BEHAVIOUR.md 12.12).
#pragma once

#include "controller/controller.hpp"
#include "jobcore/spec.hpp"
#include "k8sio/client.hpp"

#include <boost/asio/awaitable.hpp>

#include <spdlog/logger.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::op {

/// Differences of one kind, as paths such as `status.restarts.last` and `spec.worker`; of a member
/// that is not there with all below it only that one.
struct schema_skew {
    std::vector<std::string> dropped;  ///< ours, which the server prunes
    std::vector<std::string> unknown;  ///< the server's, which this program does not know
    /// Of the unknown members of the status those that stand in objects alone, in no list: JSON
    /// pointers within it.
    std::vector<std::string> kept;

    friend bool operator==(const schema_skew&, const schema_skew&) = default;
};

/// `openapi`: what the server says of our group at `/openapi/v3/apis/...`. Nothing if it does not
/// speak of the kind.
std::optional<schema_skew> find_skew(core::job_kind kind, std::string_view openapi);

/// Asks the server once, tells the log, and has `work` keep what is kept. Nothing happens if the
/// server does not say. Before work.run(); all references must live until completion.
boost::asio::awaitable<void> look_for_skew(
    k8sio::client& api, controller& work, spdlog::logger& log, std::vector<core::job_kind> kinds
);

}  // namespace signalbox::op
