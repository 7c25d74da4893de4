// SPDX-License-Identifier: Apache-2.0
//
// HTTP/1.1 as texts: a request becomes bytes, bytes become an answer. No sockets (REQUIREMENTS.md
// T5-T7).
#pragma once

#include "k8sio/error.hpp"
#include "k8sio/http.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::k8sio::protocol {

/// What every request to one server has.
class request_frame {
public:
    request_frame() = default;
    std::string host;                                          ///< `Host` header
    std::string path_prefix;                                   ///< before each target
    std::string user_agent;                                    ///< empty: the request's own
    std::string authorization;                                 ///< empty: none
    std::vector<std::pair<std::string, std::string>> headers;  ///< further ones
};

/// The bytes to send. Nothing if the target or a header would break the framing (line ends,
/// blanks).
std::optional<std::string> render_request(const http_request& request, const request_frame& frame);

/// Reads one answer from pieces of any size; answers 1xx before it are skipped.
class answer_reader {
public:
    enum class body_kind {
        unary,   ///< limited to `body_limit` in total
        stream,  ///< no total limit: a watch (T7)
    };
    answer_reader(std::size_t header_limit, std::size_t body_limit, body_kind kind);
    ~answer_reader();

    /// False once the answer is no valid HTTP or exceeds a limit; see failure().
    bool feed(std::string_view bytes);
    /// The connection ended. False if the answer was not complete.
    bool feed_end();

    bool header_done() const;
    bool done() const;
    /// Any byte has come.
    bool started() const;
    /// After done(): another request may use the connection.
    bool reusable() const;
    errc failure() const;
    const std::string& failure_text() const;

    /// Status, headers and the body so far; the body starts anew.
    http_response take();
    int status() const;
    std::string_view header(std::string_view name) const;
    /// Body bytes that came since the last call.
    std::string take_body();
    bool has_body() const { return body_size() > 0; }
    std::size_t body_size() const;

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace signalbox::k8sio::protocol
