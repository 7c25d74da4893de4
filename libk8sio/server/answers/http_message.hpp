// SPDX-License-Identifier: Apache-2.0
//
// A request and an answer as both faces see them; watches and logs carry a stream instead of a
// body.
#pragma once

#include "server/values/refusal.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::k8sio::server {

class body_stream;
class socket_session;

/// What a client would like to speak on this connection instead of HTTP.
struct upgrade_offer {
    std::string to;                      ///< `websocket`, in small letters; empty: nothing
    std::vector<std::string> protocols;  ///< Sec-WebSocket-Protocol, best first
};

struct api_request {
    std::string method;
    std::string path;                                       ///< still percent-encoded
    std::vector<std::string> segments;                      ///< of the path, decoded
    std::map<std::string, std::vector<std::string>> query;  ///< values in the order of the query
    std::string content_type;                               ///< without parameters
    std::string accept;
    std::string body;
    upgrade_offer upgrade;

    /// The first query value; empty if absent.
    std::string_view param(std::string_view name) const;
    /// All query values of that name.
    std::vector<std::string> params(std::string_view name) const;
    bool flag(std::string_view name) const;
    std::optional<std::int64_t> number(std::string_view name) const;
};

/// Splits and decodes `target`.
api_request make_request(
    std::string method,
    std::string_view target,
    std::string_view content_type,
    std::string accept,
    std::string body
);

struct api_answer {
    int status = 200;
    std::string content_type = "application/json";
    std::vector<std::pair<std::string, std::string>> headers;
    std::string body;
    std::unique_ptr<body_stream> stream;  ///< if set, `body` is empty
    /// If set, the connection becomes a WebSocket, of which this is the server's side.
    std::shared_ptr<socket_session> session;

    api_answer();
    api_answer(int status, std::string body);
    api_answer(const refusal& r);  // NOLINT(google-explicit-constructor): a refusal is an answer
    api_answer(api_answer&&) noexcept;
    api_answer& operator=(api_answer&&) noexcept;
    ~api_answer();
};

/// What the Accept header asks for.
enum class representation { plain, table, partial, unacceptable };
representation wanted_representation(std::string_view accept);
/// True for `as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io`.
bool wants_aggregated_discovery(std::string_view accept);

}  // namespace signalbox::k8sio::server
