// SPDX-License-Identifier: Apache-2.0
//
// The requests of the API's verbs. Errors have the code invalid_argument: a namespace or name with
// which the path would be that of something else (REQUIREMENTS.md T11).
#pragma once

#include "k8sio/error.hpp"
#include "k8sio/http.hpp"
#include "k8sio/reflector_sink.hpp"
#include "k8sio/request_options.hpp"
#include "k8sio/resource.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace signalbox::k8sio::protocol {

/// Says in an error which request it is about: without the query, which may hold data of users.
void name_request(api_error& error, const http_request& request);
api_error request_error(errc code, const http_request& request, std::string message);

/// A request on one object, or on its `subresource` if that is not empty.
result<http_request> object_request(
    std::string method,
    const resource_type& type,
    std::string_view ns,
    std::string_view name,
    std::string_view subresource = {}
);
/// POST, still without a body.
result<http_request> create_request(const resource_type& type, std::string_view ns);
/// An empty `ns`: all namespaces.
result<http_request> list_request(
    const resource_type& type, std::string_view ns, const list_options& options
);
/// The log of a container of a pod.
result<http_request> log_request(
    std::string_view ns, std::string_view name, const log_query& query
);
/// A watch with bookmarks. The namespace is not checked: a list went before.
http_request watch_request(
    const resource_type& type,
    const reflector_options& options,
    std::string_view version,
    std::chrono::seconds timeout
);

/// The request with a body and, if it is not empty, `manager` as its `fieldManager`.
result<http_request> with_body(
    result<http_request> request,
    std::string_view manager,
    std::string_view content_type,
    std::string body
);
/// The body of a DELETE.
std::string delete_body(const delete_options& options);

}  // namespace signalbox::k8sio::protocol
