// SPDX-License-Identifier: Apache-2.0
#include "server/built_in/reviews.hpp"

#include "server/kinds/refusals.hpp"

namespace signalbox::k8sio::server::reviews {
namespace {

using json::arena;
using json::value;

value texts(std::initializer_list<std::string_view> list, arena& a) {
    value out = json::array();
    for (const std::string_view text : list) {
        out.PushBack(json::make_string(text, a).Move(), a);
    }
    return out;
}

void set_status(value& review, value status, arena& a) {
    json::object_at(review, "metadata", a);
    json::set(review, "status", std::move(status), a);
}

}  // namespace

outcome<void> answer_access(value& review, arena& a) {
    const bool resource = json::find_path(review, {"spec", "resourceAttributes"}) != nullptr;
    const bool path = json::find_path(review, {"spec", "nonResourceAttributes"}) != nullptr;
    if (resource == path) {
        kind_info nothing;
        nothing.group = "authorization.k8s.io";
        problems list;
        list.invalid(
            "spec.resourceAttributes",
            value(),
            "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        );
        return invalid(nothing, "", list);
    }
    value status = json::object();
    json::set(status, "allowed", value(true), a);
    json::set(status, "reason", "the embedded API server checks no permissions", a);
    set_status(review, std::move(status), a);
    return {};
}

outcome<void> answer_rules(value& review, arena& a) {
    if (json::string_at(review, {"spec", "namespace"}).empty()) {
        return bad_request("no namespace on request");
    }
    value resources = json::object();
    for (const char* key : {"verbs", "apiGroups", "resources"}) {
        json::set(resources, key, texts({"*"}, a), a);
    }
    value paths = json::object();
    for (const char* key : {"verbs", "nonResourceURLs"}) {
        json::set(paths, key, texts({"*"}, a), a);
    }
    value status = json::object();
    value resource_rules = json::array();
    resource_rules.PushBack(resources, a);
    json::set(status, "resourceRules", std::move(resource_rules), a);
    value path_rules = json::array();
    path_rules.PushBack(paths, a);
    json::set(status, "nonResourceRules", std::move(path_rules), a);
    json::set(status, "incomplete", value(false), a);
    set_status(review, std::move(status), a);
    return {};
}

outcome<void> answer_who(value& review, arena& a) {
    value user = json::object();
    json::set(user, "username", "signalbox", a);
    json::set(user, "groups", texts({"system:masters", "system:authenticated"}, a), a);
    value status = json::object();
    json::set(status, "userInfo", std::move(user), a);
    set_status(review, std::move(status), a);
    return {};
}

}  // namespace signalbox::k8sio::server::reviews
