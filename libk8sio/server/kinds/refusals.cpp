// SPDX-License-Identifier: Apache-2.0
#include "server/kinds/refusals.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace signalbox::k8sio::server {
namespace {

refusal about(
    const kind_info& kind, std::string_view name, int code, std::string reason, std::string message
) {
    refusal r;
    r.code = code;
    r.reason = std::move(reason);
    r.message = std::move(message);
    r.name = name;
    r.group = kind.group;
    r.kind = kind.plural;
    return r;
}

}  // namespace

refusal not_found(const kind_info& kind, std::string_view name) {
    return about(
        kind, name, 404, "NotFound", fmt::format("{} \"{}\" not found", kind.qualified(), name)
    );
}

refusal already_exists(const kind_info& kind, std::string_view name) {
    return about(
        kind,
        name,
        409,
        "AlreadyExists",
        fmt::format("{} \"{}\" already exists", kind.qualified(), name)
    );
}

refusal conflict(const kind_info& kind, std::string_view name, std::string_view detail) {
    return about(
        kind,
        name,
        409,
        "Conflict",
        fmt::format(
            "Operation cannot be fulfilled on {} \"{}\": {}", kind.qualified(), name, detail
        )
    );
}

refusal stale_write(const kind_info& kind, std::string_view name) {
    return conflict(
        kind,
        name,
        "the object has been modified; please apply your changes to the latest version and try "
        "again"
    );
}

refusal invalid(const kind_info& kind, std::string_view name, problems& list) {
    std::vector<status_cause> causes = list.take();
    std::string text;
    for (const status_cause& cause : causes) {
        text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", cause.field, cause.message);
    }
    if (causes.size() > 1) {
        text = "[" + text + "]";
    }
    const std::string type = kind.group.empty() ? kind.kind : kind.kind + "." + kind.group;
    refusal r = about(
        kind, name, 422, "Invalid", fmt::format("{} \"{}\" is invalid: {}", type, name, text)
    );
    r.kind = kind.kind;
    r.causes = std::move(causes);
    return r;
}

refusal forbidden(const kind_info& kind, std::string_view name, std::string_view detail) {
    return about(
        kind,
        name,
        403,
        "Forbidden",
        fmt::format("{} \"{}\" is forbidden: {}", kind.qualified(), name, detail)
    );
}

std::string success_text(const kind_info& kind, std::string_view name, std::string_view uid) {
    json::arena a;
    json::value status = json::object();
    json::set(status, "kind", "Status", a);
    json::set(status, "apiVersion", "v1", a);
    json::set(status, "metadata", json::object(), a);
    json::set(status, "status", "Success", a);
    if (!name.empty()) {
        json::value details = json::object();
        json::set(details, "name", name, a);
        if (!kind.group.empty()) {
            json::set(details, "group", kind.group, a);
        }
        json::set(details, "kind", kind.plural, a);
        json::set(details, "uid", uid, a);
        json::set(status, "details", std::move(details), a);
    }
    return json::to_text(status);
}

}  // namespace signalbox::k8sio::server
