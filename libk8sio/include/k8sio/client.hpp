// SPDX-License-Identifier: Apache-2.0
//
// The verbs of the Kubernetes API over a transport. Bodies are JSON texts in both directions.
#pragma once

#include "k8sio/clock.hpp"
#include "k8sio/error.hpp"
#include "k8sio/resource.hpp"
#include "k8sio/transport.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::k8sio {

class client_options {
public:
    client_options() = default;
    /// Sent as `fieldManager` and in User-Agent.
    std::string manager = "signalbox";
    std::chrono::nanoseconds request_timeout = std::chrono::seconds{30};
    /// How often a request that the server told to come back later (429, 503 with Retry-After) or
    /// that failed before it was sent is repeated within its deadline (REQUIREMENTS.md R2, R4).
    int max_retries = 3;
};

/// Preconditions and propagation of a delete (REQUIREMENTS.md X8).
class delete_options {
public:
    delete_options() = default;
    explicit delete_options(std::string uid_precondition) : uid(std::move(uid_precondition)) {}
    std::string uid;               ///< empty: no precondition
    std::string resource_version;  ///< empty: no precondition
    std::string propagation = "Background";
    std::optional<std::int64_t> grace_seconds;
};

/// One page of a list: the list object's JSON plus its paging facts.
class list_page {
public:
    list_page() = default;
    std::string resource_version;
    std::string continue_token;
    /// Each item's JSON text, with apiVersion and kind filled in (REQUIREMENTS.md L6).
    std::vector<std::string> items;
};

class list_options {
public:
    list_options() = default;
    std::string label_selector;
    std::string field_selector;
    std::int64_t limit = 500;
    std::string continue_token;
    /// Empty: most recent (REQUIREMENTS.md V1).
    std::string resource_version;
};

/// Not thread-safe. `transport` and `clock` must outlive it and every pending operation. Every
/// awaitable's reference parameters must live until completion.
class client {
public:
    client(transport& way, clock& time, client_options options = client_options());

    boost::asio::awaitable<result<std::string>> get(
        const resource_type& type, std::string_view ns, std::string_view name
    );
    boost::asio::awaitable<result<list_page>> list(
        const resource_type& type, std::string_view ns, const list_options& options
    );
    boost::asio::awaitable<result<std::string>> create(
        const resource_type& type, std::string_view ns, std::string body
    );
    /// PUT; `body` must carry metadata.resourceVersion (REQUIREMENTS.md X4).
    boost::asio::awaitable<result<std::string>> update(
        const resource_type& type, std::string_view ns, std::string_view name, std::string body
    );
    /// PUT on the status subresource.
    boost::asio::awaitable<result<std::string>> update_status(
        const resource_type& type, std::string_view ns, std::string_view name, std::string body
    );
    /// JSON merge patch; preconditions go into the body (metadata.uid, metadata.resourceVersion).
    boost::asio::awaitable<result<std::string>> merge_patch(
        const resource_type& type,
        std::string_view ns,
        std::string_view name,
        std::string body,
        std::string_view subresource = {}
    );
    /// The body of the answer: the object in deletion, or a Status. 404 is an error of reason
    /// NotFound; callers that want it gone take it as success.
    boost::asio::awaitable<result<std::string>> remove(
        const resource_type& type,
        std::string_view ns,
        std::string_view name,
        const delete_options& options
    );
    /// Any request, e.g. discovery or `pods/binding`.
    boost::asio::awaitable<result<std::string>> raw(
        std::string method, std::string target, std::string content_type, std::string body
    );

    transport& way() { return *way_; }
    clock& time() { return *time_; }
    const client_options& options() const { return options_; }

    /// Server time: a steady clock anchored to the `Date` header of answers (design.md 3), so that
    /// a jump of the local clock moves no deadline. Before the first answer: the local wall clock.
    wall_time server_now() const;

    /// Requests sent, by verb, since construction: for metrics and tests.
    std::uint64_t requests_sent() const { return requests_sent_; }

private:
    boost::asio::awaitable<result<http_response>> send(http_request& request);
    void note_server_time(const http_response& answer, steady_time sent);

    transport* way_;
    clock* time_;
    client_options options_;
    std::optional<std::pair<steady_time, wall_time>> anchor_;
    std::uint64_t requests_sent_ = 0;
};

/// Turns an answer with status >= 400 into an error: the server's Status if the body is one, else
/// the status, content type and first 2 KiB (REQUIREMENTS.md T14).
api_error error_from_response(const http_request& request, const http_response& answer);

}  // namespace signalbox::k8sio
