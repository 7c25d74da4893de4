// SPDX-License-Identifier: Apache-2.0
//
// Requests and answers of HTTP, as values.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::k8sio {

/// One HTTP request to the API server. A class with a constructor, because g++ 12 miscompiles
/// coroutines whose parameters are aggregates.
class http_request {
public:
    http_request(std::string verb, std::string path_and_query)
        : method(std::move(verb)), target(std::move(path_and_query)) {}

    std::string method;        ///< in capitals
    std::string target;        ///< path and query from `/` on, already percent-encoded
    std::string content_type;  ///< of the body; empty: none is sent
    std::string accept = "application/json";
    std::string body;
    /// If set, it may get the body of an answer with 2xx in pieces as they arrive, instead of
    /// http_response::body; for bodies that need not be held. False ends the exchange with
    /// bad_response. Not called after completion.
    std::function<bool(std::string_view piece)> on_body;
    /// If set, it is asked when a connection is there, right before the first byte is sent. False
    /// ends the exchange with cancelled, and nothing was sent (REQUIREMENTS.md B7).
    std::function<bool()> may_send;
    /// Further headers. Host, Authorization and Content-Length are the transport's.
    std::vector<std::pair<std::string, std::string>> headers;
};

/// A whole answer.
class http_response {
public:
    http_response() = default;

    int status = 0;
    std::vector<std::pair<std::string, std::string>> headers;  ///< names as received
    std::string body;

    /// First header of that name, case-insensitive; empty if there is none.
    ///
    /// Lifetimes: the text is valid as long as `headers` does not change.
    std::string_view header(std::string_view name) const;
};

}  // namespace signalbox::k8sio
