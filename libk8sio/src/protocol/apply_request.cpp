// SPDX-License-Identifier: Apache-2.0
#include "protocol/apply_request.hpp"

#include "protocol/json_cursor.hpp"
#include "protocol/requests.hpp"

namespace signalbox::k8sio::protocol {

namespace {

/// `conflict with "NAME" using apps/v1`, with a subresource and a time perhaps. Empty if there is
/// no name in it.
std::string manager_in(std::string_view message) {
    const std::size_t from = message.find('"');
    std::string name;
    if (from == message.npos) {
        return name;
    }
    std::size_t to = from + 1;
    while (to < message.size() && message[to] != '"') {
        to += message[to] == '\\' ? 2u : 1u;
    }
    const std::string_view quoted = message.substr(from, to - from + 1);
    if (to >= message.size() || !decode_json_string(quoted, name)) {
        name.clear();
    }
    return name;
}

}  // namespace

result<http_request> apply_request(
    const resource_type& type,
    std::string_view ns,
    std::string_view name,
    const apply_options& options
) {
    auto request = object_request("PATCH", type, ns, name, options.subresource);
    if (request.has_value() && options.manager.empty()) {
        return request_error(errc::invalid_argument, *request, "apply needs a field manager");
    }
    if (request.has_value() && options.force) {
        request->target += "?force=true";
    }
    return with_body(std::move(request), options.manager, "application/apply-patch+yaml", {});
}

std::vector<apply_conflict> read_conflicts(const api_error& error) {
    std::vector<apply_conflict> found;
    if (error.http_status != 409) {
        return found;
    }
    for (const status_cause& cause : error.causes) {
        if (cause.reason == "FieldManagerConflict") {
            found.push_back({manager_in(cause.message), cause.field, cause.message});
        }
    }
    return found;
}

}  // namespace signalbox::k8sio::protocol
