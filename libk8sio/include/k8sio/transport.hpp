// SPDX-License-Identifier: Apache-2.0
//
// The seam between the client and the way to a server: real HTTP(S), or in process to the embedded
// API server. Everything above it is the same code.
#pragma once

#include "k8sio/clock.hpp"
#include "k8sio/error.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::k8sio {

/// One HTTP request to the API server. A class with a constructor, because coroutine parameters
/// must have one (style.md 6.3).
class http_request {
public:
    http_request(std::string verb, std::string path_and_query)
        : method(std::move(verb)), target(std::move(path_and_query)) {}

    std::string method;
    std::string target;  ///< origin form: path and query, already percent-encoded
    std::string content_type;
    std::string accept = "application/json";
    std::string body;
    /// Further headers, e.g. impersonation. Authorization is added by the transport.
    std::vector<std::pair<std::string, std::string>> headers;
};

class http_response {
public:
    http_response() = default;

    int status = 0;
    std::vector<std::pair<std::string, std::string>> headers;  ///< names as received
    std::string body;

    /// First header of that name, case-insensitive; empty if there is none.
    std::string_view header(std::string_view name) const;
};

/// An answer whose body is read piece by piece: a watch, or a list decoded while it arrives.
class response_stream {
public:
    virtual ~response_stream() = default;

    virtual int status() const = 0;
    virtual std::string_view header(std::string_view name) const = 0;
    /// The next bytes of the body; an empty view at its clean end. The view is valid until the next
    /// call. Fails with timeout when nothing arrives for the idle time given to open_stream.
    /// Cancellation: total; the stream is then closed.
    virtual boost::asio::awaitable<result<std::string_view>> read_some() = 0;
    /// Ends the stream at once; a pending read_some fails with cancelled.
    virtual void close() = 0;
};

/// A way to one API server. Used on one thread. Destroy only when no operation is pending.
class transport {
public:
    virtual ~transport() = default;

    /// Sends the request and reads the whole answer. Every answer of the server, whatever its
    /// status, is a value; errors are those without an answer. `request` must live until
    /// completion.
    virtual boost::asio::awaitable<result<http_response>> exchange(
        const http_request& request, steady_time deadline
    ) = 0;

    /// Sends the request and reads the header of the answer. The stream owns its connection
    /// (REQUIREMENTS.md T2). `idle` bounds the time to the header and between two pieces.
    virtual boost::asio::awaitable<result<std::unique_ptr<response_stream>>> open_stream(
        const http_request& request, std::chrono::nanoseconds idle
    ) = 0;
};

}  // namespace signalbox::k8sio
