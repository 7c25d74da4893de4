// SPDX-License-Identifier: Apache-2.0
//
// Errors as text, and the one table that says what to do after one.
#include "k8sio/error.hpp"

#include "protocol/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace signalbox::k8sio {

namespace {

constexpr std::size_t text_limit = 8192;

}  // namespace

std::string_view to_string(errc code) {
    switch (code) {
        case errc::invalid_argument:
            return "invalid argument";
        case errc::resolve:
            return "name not resolved";
        case errc::connect:
            return "no connection";
        case errc::tls:
            return "TLS failed";
        case errc::credentials:
            return "no credentials";
        case errc::timeout:
            return "timeout";
        case errc::connection_lost:
            return "connection lost";
        case errc::bad_response:
            return "bad response";
        case errc::too_large:
            return "too large";
        case errc::http_status:
            return "refused";
        case errc::cancelled:
            return "cancelled";
    }
    return "unknown";
}

api_error make_error(errc code, std::string message) {
    api_error error;
    error.code = code;
    error.message = std::move(message);
    return error;
}

api_error status_error(int http_status, std::string reason, std::string message) {
    api_error error = make_error(errc::http_status, std::move(message));
    error.http_status = http_status;
    error.reason = std::move(reason);
    return error;
}

std::string api_error::text() const {
    std::string out;
    if (!method.empty()) {
        out = fmt::format("{} {}: ", method, path);
    }
    if (code == errc::http_status) {
        out += std::to_string(http_status);
        if (!reason.empty()) {
            out += " " + reason;
        }
    } else {
        out += to_string(code);
        if (http_status != 0) {
            out += fmt::format(" (status {})", http_status);
        }
    }
    if (!message.empty()) {
        out += ": " + message;
    }
    for (const status_cause& cause : causes) {
        // The server repeats most causes in its message.
        if (!cause.message.empty() && message.find(cause.message) == std::string::npos) {
            out += fmt::format(" [{}: {}]", cause.field, cause.message);
        }
    }
    if (!audit_id.empty()) {
        out += fmt::format(" (audit id {})", audit_id);
    }
    return protocol::printable(out, text_limit);
}

bool api_error::has_cause(std::string_view cause_reason) const {
    return std::any_of(causes.begin(), causes.end(), [&](const status_cause& cause) {
        return cause.reason == cause_reason;
    });
}

namespace {

enum class verb { any, read, write };

/// One row; the first that fits decides. For errors without a status, `low` and `high` are 0.
struct rule {
    errc code;
    int low, high;
    verb applies_to;
    retry_class decision;
};

// REQUIREMENTS.md R2-R4. Reads may always be repeated. A write whose fate is not known is reported
// so; a write that surely did not happen is not.
constexpr rule rules[] = {
    {errc::cancelled, 0, 999, verb::any, retry_class::cancelled},
    {errc::invalid_argument, 0, 999, verb::any, retry_class::give_up},
    {errc::resolve, 0, 999, verb::any, retry_class::retry_later},
    {errc::connect, 0, 999, verb::any, retry_class::retry_later},
    {errc::tls, 0, 999, verb::any, retry_class::retry_later},
    {errc::credentials, 0, 999, verb::any, retry_class::retry_later},
    {errc::timeout, 0, 999, verb::read, retry_class::retry_later},
    {errc::timeout, 0, 999, verb::write, retry_class::unknown_outcome},
    // A stale keep-alive connection is the common cause (R4).
    {errc::connection_lost, 0, 999, verb::read, retry_class::retry_now},
    {errc::connection_lost, 0, 999, verb::write, retry_class::unknown_outcome},
    {errc::bad_response, 0, 999, verb::read, retry_class::retry_later},
    {errc::bad_response, 0, 999, verb::write, retry_class::unknown_outcome},
    {errc::too_large, 0, 999, verb::read, retry_class::give_up},
    {errc::too_large, 0, 999, verb::write, retry_class::unknown_outcome},
    {errc::http_status, 404, 404, verb::any, retry_class::recompute},
    {errc::http_status, 408, 408, verb::any, retry_class::retry_later},
    {errc::http_status, 409, 410, verb::any, retry_class::recompute},
    {errc::http_status, 412, 412, verb::any, retry_class::recompute},
    {errc::http_status, 429, 429, verb::any, retry_class::retry_later},
    {errc::http_status, 0, 499, verb::any, retry_class::give_up},
    {errc::http_status, 501, 501, verb::any, retry_class::give_up},
    // "etcdserver: request timed out" is a 500: the write may be carried out all the same.
    {errc::http_status, 500, 500, verb::write, retry_class::unknown_outcome},
    // A gateway, or the server's own time limit, gave up waiting for a write that may go on.
    {errc::http_status, 502, 502, verb::write, retry_class::unknown_outcome},
    {errc::http_status, 504, 504, verb::write, retry_class::unknown_outcome},
    {errc::http_status, 500, 999, verb::any, retry_class::retry_later},
};

}  // namespace

retry_class classify(const api_error& error) {
    const bool read = error.method == "GET" || error.method == "HEAD";
    for (const rule& row : rules) {
        const bool verb_fits =
            row.applies_to == verb::any || (row.applies_to == verb::read) == read;
        if (row.code == error.code && verb_fits && error.http_status >= row.low &&
            error.http_status <= row.high) {
            return row.decision;
        }
    }
    return retry_class::give_up;
}

bool is_namespace_ending(const api_error& error) {
    const bool terminating = error.http_status == 403 && error.has_cause("NamespaceTerminating");
    // A namespace that is gone: 404 whose subject is the namespace, not the kind.
    const bool gone =
        error.http_status == 404 && error.message.find("namespaces \"") != std::string::npos;
    return terminating || gone;
}

void throw_exception_from_error(const api_error& error, const boost::source_location&) {
    throw std::runtime_error(error.text());
}

}  // namespace signalbox::k8sio
