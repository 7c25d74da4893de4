// SPDX-License-Identifier: Apache-2.0
//
// Errors are values: callers branch on the server's reason. No credential of the configuration
// enters one, nor what may be an object of the API (REQUIREMENTS.md C9, T14).
#pragma once

#include <boost/assert/source_location.hpp>
#include <boost/system/result.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::k8sio {

/// Where a request ended that got no acceptable answer. After timeout, connection_lost,
/// bad_response, too_large and cancelled a write may have happened.
enum class errc {
    invalid_argument,  ///< refused before sending, e.g. an empty name (REQUIREMENTS.md T11)
    resolve,           ///< the server's name does not resolve
    connect,           ///< no connection in time, or no turn; nothing was sent
    tls,               ///< handshake or certificate verification failed
    credentials,       ///< the credential plugin gave none; nothing was sent (REQUIREMENTS.md C7)
    timeout,           ///< the answer took longer than allowed (REQUIREMENTS.md T3)
    connection_lost,  ///< reset or end of stream before the whole answer; a write may have happened
    bad_response,     ///< answer is no valid HTTP or no valid JSON (REQUIREMENTS.md T14)
    too_large,        ///< a deliberate limit was exceeded (REQUIREMENTS.md T7)
    http_status,      ///< the server answered with a status >= 400; see http_status and reason
    cancelled,        ///< the caller stopped the operation; never logged as an error
};
/// In words, for logs.
std::string_view to_string(errc code);

/// One entry of `Status.details.causes`.
struct status_cause {
    std::string reason;
    std::string message;
    std::string field;
};

/// Why a request failed: our code plus, where there was an answer, the server's `Status`.
struct api_error {
    errc code = errc::http_status;
    int http_status = 0;  ///< 0 if there was no answer
    /// `Status.reason`: `AlreadyExists`, `Conflict`, `NotFound`, `Expired`, `Invalid` ...
    std::string reason;
    std::string message;  ///< the server's, or what happened; of a broken answer up to 2 KiB
    std::vector<status_cause> causes;
    std::optional<std::chrono::seconds> retry_after;  ///< as the server named it, not clamped
    std::string method;                               ///< empty if the error is of no request
    std::string path;      ///< without query values that could hold data of users
    std::string audit_id;  ///< `Audit-Id` header

    /// For logs and events: method, path, status and reason, message, causes, audit id. One line,
    /// whatever the answer held.
    std::string text() const;
    /// True if a cause has this reason, e.g. `NamespaceTerminating`.
    bool has_cause(std::string_view cause_reason) const;
};

/// An error that no server told.
api_error make_error(errc code, std::string message);
/// An error as the Status of a server tells it: e.g. 404, `NotFound`, `pods "w-0" not found`.
api_error status_error(int http_status, std::string reason, std::string message);

/// What to do after an error that a client's own repetitions did not mend (REQUIREMENTS.md R2-R4).
enum class retry_class {
    retry_now,        ///< nothing happened; a fresh connection will do
    retry_later,      ///< 429 or 5xx: after retry_after or a backoff
    recompute,        ///< 404, 409, 410, 412: decide again from newer state
    give_up,          ///< will repeat: 400, 401 after refresh, 403, 422
    unknown_outcome,  ///< the write may have happened: look before it is sent again
    cancelled,        ///< the caller's own wish; nothing is to be done
};
/// By code, status, and whether error.method reads or writes. Total: every error has a row.
retry_class classify(const api_error& error);

/// True if the error of a creation says that its namespace is being deleted, or gone
/// (REQUIREMENTS.md X3): whatever else is created there has the same answer.
bool is_namespace_ending(const api_error& error);

/// A value or an error. Ask has_value() or has_error() before `*r` or error().
template <class T>
using result = boost::system::result<T, api_error>;

/// Called by result::value() on an error: throws std::runtime_error with text(). The libraries
/// themselves never call value().
[[noreturn]] void throw_exception_from_error(
    const api_error& error, const boost::source_location& where
);

}  // namespace signalbox::k8sio
