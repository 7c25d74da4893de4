// SPDX-License-Identifier: Apache-2.0
//
// An HTTP/1.1 server, bounded in all that a peer could take of it: what serves a controller's
// health and metrics, and the embedded API server (REQUIREMENTS.md H6).
#pragma once

#include "k8sio/clock.hpp"
#include "k8sio/error.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::k8sio {

namespace serving {
class open_connection;
struct taken_connection;
struct connections;
}  // namespace serving

/// What the peers of one server may take of it. A connection that exceeds a size or a time ends.
struct http_limits {
    /// At a time. Beyond them the one that has waited longest for a request or a part of one goes;
    /// if all are being answered, the new one.
    std::size_t connections = 64;
    std::uint32_t header = 16 * 1024;           ///< bytes
    std::uint64_t body = 1024;                  ///< bytes; one that is larger gets an answer
    std::uint64_t chunk_extensions = 4 * 1024;  ///< bytes, of all chunks of a body together
    /// From the connection, or the first byte of a later request, to the end of the header.
    std::chrono::nanoseconds header_time = std::chrono::seconds{10};
    std::chrono::nanoseconds body_time = std::chrono::seconds{10};   ///< from the header on
    std::chrono::nanoseconds idle_time = std::chrono::seconds{120};  ///< between two requests
    /// In which the peer takes no byte of an answer; that of a stream has no limit.
    std::chrono::nanoseconds answer_time = std::chrono::seconds{10};
};

/// A request as it came.
struct served_request {
    std::string method;
    std::string target;                                        ///< path and query, encoded
    std::vector<std::pair<std::string, std::string>> headers;  ///< names as received
    std::string body;

    /// First header of that name, case-insensitive; nothing if there is none.
    ///
    /// Lifetimes: the text is valid as long as `headers` does not change.
    std::optional<std::string_view> find_header(std::string_view name) const;
    /// The same, but empty if there is none.
    ///
    /// Lifetimes: as of find_header().
    std::string_view header(std::string_view name) const {
        return find_header(name).value_or(std::string_view());
    }
};

/// Its bearer token; empty if it has none.
///
/// Lifetimes: as of find_header().
std::string_view bearer_token(const served_request& request);

/// True if it has this bearer token. No request has an empty one.
bool bears_token(const served_request& request, std::string_view token);

/// True if a page of another site may have sent it through a browser of this machine: it has an
/// Origin, or its Host is neither an address nor localhost, as of a name that was made to resolve
/// to this machine.
bool may_be_from_web_page(const served_request& request);

/// The body of an answer that is made piece by piece, at the pace at which the client takes it.
///
/// Thread: the loop's only.
class answer_stream {
public:
    answer_stream() = default;
    virtual ~answer_stream() = default;
    answer_stream(const answer_stream&) = delete;
    answer_stream& operator=(const answer_stream&) = delete;

    /// The next bytes, at most about `limit`; empty: nothing now.
    virtual std::string next(std::size_t limit) = 0;
    /// No more will come, once next() gives nothing.
    virtual bool finished() const = 0;
    /// Whether it finished early: the client must not take what it has for the whole.
    virtual bool broken() const { return false; }
    /// Called whenever next() may give something or the stream finishes; from within a write, so it
    /// must only post.
    void on_ready(std::function<void()> callback) { ready_ = std::move(callback); }

    /// Size of one piece.
    static constexpr std::size_t piece_size = 64 * 1024;

protected:
    void wake() {
        if (ready_) {
            ready_();
        }
    }

private:
    std::function<void()> ready_;
};

/// What a request is answered with: a body, a stream, another protocol, or nothing.
struct served_answer {
    unsigned status = 200;
    /// Content-Length, Transfer-Encoding and Connection are the server's.
    std::vector<std::pair<std::string, std::string>> headers;
    std::string body;
    /// If set, `body` is not sent; the connection ends with it.
    std::unique_ptr<answer_stream> stream;
    /// If set, the connection is given away: for the embedded API server's WebSockets.
    std::function<std::shared_ptr<serving::open_connection>(serving::taken_connection&&)> upgrade;
    bool drop = false;  ///< the connection ends without an answer
};

/// What answers the requests of an http_listener. It must not throw.
///
/// Thread: the loop's only.
class request_handler {
public:
    virtual ~request_handler() = default;

    /// A connection has come, and is not served yet: the time to look whether certificates have
    /// changed.
    virtual void connecting() {}
    /// The header of a request has come, its body has not: an answer refuses it unread.
    virtual std::optional<served_answer> refuse(const served_request& header);
    /// The answer to a whole request, at once.
    virtual served_answer answer(served_request request) = 0;
    /// The answer to a request whose body is larger than the limit; by default 413.
    virtual served_answer too_large();
};

/// Accepts connections and serves requests on them, one after the other on each.
///
/// Lifetimes: `time` and `handler` must outlive stop(), which the destructor calls.
/// Thread: that of `executor`, whose context must be run by one thread.
class http_listener {
public:
    http_listener(
        boost::asio::any_io_executor executor,
        clock& time,
        http_limits limits,
        request_handler& handler
    );
    ~http_listener();
    http_listener(const http_listener&) = delete;
    http_listener& operator=(const http_listener&) = delete;

    /// From now on connections are by TLS, with this chain and key in PEM.
    ///
    /// Errors: tls (no certificate), credentials (no key, or one that is not the certificate's);
    /// what was used before stays.
    result<void> use_identity(const std::string& certificate, const std::string& key);
    /// Begins to accept, once. `address`: an IP address; empty: all of this machine. Port 0 takes
    /// any that is free. Gives the port.
    ///
    /// Errors: invalid_argument (no IP address), connect (the system's message).
    result<std::uint16_t> listen(const std::string& address, std::uint16_t port);
    /// The same on a socket that is bound and listens: it is this listener's from now on, and
    /// closed if there is an error.
    ///
    /// Errors: connect (the system's message).
    result<std::uint16_t> listen(int socket);
    /// Where it listens: `127.0.0.1:8080`, `[::1]:8080`. Only after listen().
    std::string address() const;
    /// Ends the listening and all connections at once. May be called again.
    void stop();

private:
    struct impl;
    std::shared_ptr<impl> impl_;
};

}  // namespace signalbox::k8sio
