// SPDX-License-Identifier: Apache-2.0
//
// What carries requests to a server: real HTTP(S), or in process to the embedded API server.
// Everything above it is the same code.
#pragma once

#include "k8sio/error.hpp"
#include "k8sio/http.hpp"
#include "k8sio/time.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>
#include <string_view>

namespace signalbox::k8sio {

/// An answer whose body is read piece by piece: a watch.
///
/// Lifetimes: it may outlive neither the transport nor its clock. Destroy it when no read is
/// pending; that closes it.
/// Thread: the transport's.
class response_stream {
public:
    virtual ~response_stream() = default;

    virtual int status() const = 0;
    /// As http_response::header().
    ///
    /// Lifetimes: the text is valid as long as the stream.
    virtual std::string_view header(std::string_view name) const = 0;
    /// The next bytes of the body; an empty view at its clean end. One call at a time.
    ///
    /// Errors: timeout when nothing arrives for the idle time given to open_stream(),
    /// connection_lost, bad_response, cancelled; the stream is then closed.
    /// Lifetimes: the view is valid until the next call.
    /// Cancellation: terminal or all; it ends with the value errc::cancelled.
    virtual boost::asio::awaitable<result<std::string_view>> read_some() = 0;
    /// Ends the stream at once; a pending read_some fails with cancelled. May be called again.
    virtual void close() = 0;
    /// True once its connection was made with keys that have been replaced since: who can go on
    /// with another one, should (REQUIREMENTS.md C3).
    virtual bool outdated() const { return false; }
};

/// Carries requests to one API server. Any number of operations may be pending.
///
/// Lifetimes: `request` of an operation must live until its completion. Destroy the transport only
/// when no operation is pending.
/// Thread: one, that of its executor.
/// Cancellation: terminal or all; an operation ends with the value errc::cancelled.
class transport {
public:
    virtual ~transport() = default;

    /// Sends the request, once, and reads the whole answer by `deadline`, a wait for its turn
    /// included. Every answer of the server, whatever its status, is a value. After 401 it is sent
    /// once more if there are newer credentials (REQUIREMENTS.md C2, C7).
    ///
    /// Errors: invalid_argument (a target or header that would break the framing), resolve,
    /// connect, tls and credentials: nothing was sent; timeout, connection_lost, bad_response,
    /// too_large and cancelled: perhaps carried out.
    virtual boost::asio::awaitable<result<http_response>> exchange(
        const http_request& request, steady_time deadline
    ) = 0;

    /// Sends the request and reads the header of the answer. The stream owns its connection, and
    /// does not count among the requests in flight (REQUIREMENTS.md T2). `idle` bounds the time to
    /// the header and between two pieces.
    ///
    /// Errors: as of exchange().
    virtual boost::asio::awaitable<result<std::unique_ptr<response_stream>>> open_stream(
        const http_request& request, std::chrono::nanoseconds idle
    ) = 0;
};

}  // namespace signalbox::k8sio
