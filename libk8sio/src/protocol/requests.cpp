// SPDX-License-Identifier: Apache-2.0
#include "protocol/requests.hpp"

#include "protocol/http_date.hpp"
#include "protocol/json_cursor.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace signalbox::k8sio::protocol {

namespace {

/// An empty one would turn the request into one on the whole collection; `.` and `..` would be
/// resolved by proxies.
bool is_bad_segment(std::string_view segment) {
    return segment.empty() || segment == "." || segment == "..";
}

/// The request, if its namespace is good or not looked at.
result<http_request> with_namespace(http_request request, std::string_view ns, bool looked_at) {
    if (looked_at && is_bad_segment(ns)) {
        return request_error(
            errc::invalid_argument, request, fmt::format("bad namespace '{}'", ns)
        );
    }
    return request;
}

void add_query(std::string& target, std::string_view key, std::string_view value) {
    target += target.find('?') == std::string::npos ? '?' : '&';
    target += key;
    target += '=';
    target += percent_encode(value);
}

void add_selectors(
    std::string& target, std::string_view label_selector, std::string_view field_selector
) {
    if (!label_selector.empty()) {
        add_query(target, "labelSelector", label_selector);
    }
    if (!field_selector.empty()) {
        add_query(target, "fieldSelector", field_selector);
    }
}

}  // namespace

void name_request(api_error& error, const http_request& request) {
    error.method = request.method;
    error.path = request.target.substr(0, request.target.find('?'));
}

api_error request_error(errc code, const http_request& request, std::string message) {
    api_error error = make_error(code, std::move(message));
    name_request(error, request);
    return error;
}

result<http_request> object_request(
    std::string method,
    const resource_type& type,
    std::string_view ns,
    std::string_view name,
    std::string_view subresource
) {
    http_request request(std::move(method), type.object_path(ns, name, subresource));
    if (is_bad_segment(name)) {
        return request_error(errc::invalid_argument, request, fmt::format("bad name '{}'", name));
    }
    return with_namespace(std::move(request), ns, type.namespaced());
}

result<http_request> create_request(const resource_type& type, std::string_view ns) {
    http_request request("POST", type.collection_path(ns));
    return with_namespace(std::move(request), ns, type.namespaced());
}

result<http_request> list_request(
    const resource_type& type, std::string_view ns, const list_options& options
) {
    std::string target = type.collection_path(ns);
    add_selectors(target, options.label_selector, options.field_selector);
    if (options.limit > 0) {
        add_query(target, "limit", std::to_string(options.limit));
    }
    if (!options.continue_token.empty()) {
        add_query(target, "continue", options.continue_token);
    } else if (!options.resource_version.empty()) {  // never on a continuation: L1, k/k#85221
        add_query(target, "resourceVersion", options.resource_version);
        if (options.resource_version != "0") {
            // With a limit and without this, the server takes the version as exact (V1).
            add_query(target, "resourceVersionMatch", "NotOlderThan");
        }
    }
    return with_namespace(http_request("GET", std::move(target)), ns, !ns.empty());
}

result<http_request> log_request(
    std::string_view ns, std::string_view name, const log_query& query
) {
    auto request = object_request("GET", resources::pods(), ns, name, "log");
    if (request.has_error()) {
        return request;
    }
    const auto add = [&target = request->target](std::string_view key, std::string_view value) {
        if (!value.empty()) {
            add_query(target, key, value);
        }
    };
    const auto number = [](const std::optional<std::int64_t>& n) {
        return n ? std::to_string(*n) : std::string();
    };
    add("container", query.container);
    add("follow", query.follow ? "true" : "");
    add("previous", query.previous ? "true" : "");
    add("timestamps", query.timestamps ? "true" : "");
    add("sinceTime", query.since ? format_api_time(*query.since) : "");
    add("sinceSeconds", number(query.since_seconds));
    add("tailLines", number(query.tail_lines));
    add("limitBytes", number(query.limit_bytes));
    request->accept = "*/*";
    return request;
}

http_request watch_request(
    const resource_type& type,
    const reflector_options& options,
    std::string_view version,
    std::chrono::seconds timeout
) {
    std::string target = type.collection_path(options.ns);
    add_query(target, "watch", "1");
    add_query(target, "allowWatchBookmarks", "true");
    add_query(target, "resourceVersion", version);
    add_query(target, "timeoutSeconds", std::to_string(timeout.count()));
    add_selectors(target, options.label_selector, options.field_selector);
    return http_request("GET", std::move(target));
}

result<http_request> with_body(
    result<http_request> request,
    std::string_view manager,
    std::string_view content_type,
    std::string body
) {
    if (request.has_value()) {
        if (!manager.empty()) {
            add_query(request->target, "fieldManager", manager);
        }
        request->content_type = content_type;
        request->body = std::move(body);
    }
    return request;
}

std::string delete_body(const delete_options& options) {
    std::string body = R"({"apiVersion":"v1","kind":"DeleteOptions")";
    if (!options.propagation.empty()) {
        body += ",\"propagationPolicy\":";
        append_json_string(body, options.propagation);
    }
    if (options.grace_seconds) {
        body += fmt::format(",\"gracePeriodSeconds\":{}", *options.grace_seconds);
    }
    if (!options.uid.empty() || !options.resource_version.empty()) {
        body += ",\"preconditions\":{";
        if (!options.uid.empty()) {
            body += "\"uid\":";
            append_json_string(body, options.uid);
        }
        if (!options.resource_version.empty()) {
            body += options.uid.empty() ? "\"resourceVersion\":" : ",\"resourceVersion\":";
            append_json_string(body, options.resource_version);
        }
        body += "}";
    }
    return body + "}";
}

}  // namespace signalbox::k8sio::protocol
