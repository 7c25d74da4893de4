// SPDX-License-Identifier: Apache-2.0
//
// Discovery: legacy documents and the aggregated form (apidiscovery.k8s.io/v2).

#include "server/documents/discovery.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace signalbox::k8sio::server {
namespace {

using json::arena;
using json::value;

struct subresource {
    std::string name, group, version, kind;
    std::vector<std::string> verbs;
};

std::vector<subresource> subresources_of(const kind_info& k) {
    std::vector<subresource> out;
    if (k.has(trait::status)) {
        out.push_back({"status", k.group, k.version, k.kind, {"get", "patch", "update"}});
    }
    if (k.scale != nullptr) {
        out.push_back({"scale", "autoscaling", "v1", "Scale", {"get", "patch", "update"}});
    }
    if (k.has(trait::graceful)) {
        out.push_back({"attach", "", "v1", "PodAttachOptions", {"create", "get"}});
        out.push_back({"binding", "", "v1", "Binding", {"create"}});
        out.push_back({"eviction", "policy", "v1", "Eviction", {"create"}});
        out.push_back({"exec", "", "v1", "PodExecOptions", {"create", "get"}});
        out.push_back({"log", "", "v1", "Pod", {"get"}});
        out.push_back({"portforward", "", "v1", "PodPortForwardOptions", {"create", "get"}});
    }
    if (k.plural == "serviceaccounts" && k.group.empty()) {
        out.push_back({"token", "authentication.k8s.io", "v1", "TokenRequest", {"create"}});
    }
    if (k.plural == "namespaces" && k.group.empty()) {
        out.push_back({"finalize", "", "v1", "Namespace", {"update"}});
    }
    return out;
}

const std::vector<std::string>& verbs_of(const kind_info& k) {
    static const std::vector<std::string> all = {
        "create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"};
    static const std::vector<std::string> one_by_one = {
        "create", "delete", "get", "list", "patch", "update", "watch"};
    static const std::vector<std::string> create_only = {"create"};
    return k.has(trait::review) ? create_only : k.has(trait::deleted_singly) ? one_by_one : all;
}

value string_list(const std::vector<std::string>& list, arena& a) {
    value out = json::array();
    for (const std::string& s : list) {
        out.PushBack(json::make_string(s, a), a);
    }
    return out;
}

value resource_entry(const kind_info& k, arena& a) {
    value r = json::object();
    json::set(r, "name", k.plural, a);
    json::set(r, "singularName", k.singular, a);
    json::set(r, "namespaced", value(k.namespaced()), a);
    json::set(r, "kind", k.kind, a);
    json::set(r, "verbs", string_list(verbs_of(k), a), a);
    if (!k.short_names.empty()) {
        json::set(r, "shortNames", string_list(k.short_names, a), a);
    }
    if (!k.categories.empty()) {
        json::set(r, "categories", string_list(k.categories, a), a);
    }
    return r;
}

value subresource_entry(const kind_info& k, const subresource& s, arena& a) {
    value r = json::object();
    json::set(r, "name", k.plural + "/" + s.name, a);
    json::set(r, "singularName", "", a);
    json::set(r, "namespaced", value(k.namespaced()), a);
    json::set(r, "kind", s.kind, a);
    if (s.group != k.group || s.version != k.version) {
        json::set(r, "group", s.group, a);
        json::set(r, "version", s.version, a);
    }
    json::set(r, "verbs", string_list(s.verbs, a), a);
    return r;
}

value response_kind(
    std::string_view group, std::string_view version, std::string_view kind, arena& a
) {
    value r = json::object();
    json::set(r, "group", group, a);
    json::set(r, "version", version, a);
    json::set(r, "kind", kind, a);
    return r;
}

value aggregated_resource(const kind_info& k, arena& a) {
    value r = json::object();
    json::set(r, "resource", k.plural, a);
    json::set(r, "responseKind", response_kind(k.group, k.version, k.kind, a), a);
    json::set(r, "scope", k.namespaced() ? "Namespaced" : "Cluster", a);
    json::set(r, "singularResource", k.singular, a);
    json::set(r, "verbs", string_list(verbs_of(k), a), a);
    json::set(r, "shortNames", string_list(k.short_names, a), a);
    json::set(r, "categories", string_list(k.categories, a), a);
    value list = json::array();
    for (const subresource& s : subresources_of(k)) {
        value e = json::object();
        json::set(e, "subresource", s.name, a);
        json::set(e, "responseKind", response_kind(s.group, s.version, s.kind, a), a);
        json::set(e, "verbs", string_list(s.verbs, a), a);
        list.PushBack(e, a);
    }
    if (!list.Empty()) {
        json::set(r, "subresources", std::move(list), a);
    }
    return r;
}

/// Groups in the order of their first kind, each with its versions in that order.
std::vector<std::pair<std::string, std::vector<std::string>>> groups_of(const registry& kinds) {
    std::vector<std::pair<std::string, std::vector<std::string>>> out;
    for (const served_kind& k : kinds.all()) {
        auto it = std::find_if(out.begin(), out.end(), [&k](const auto& g) {
            return g.first == k.info->group;
        });
        if (it == out.end()) {
            out.push_back({k.info->group, {}});
            it = out.end() - 1;
        }
        if (std::find(it->second.begin(), it->second.end(), k.info->version) == it->second.end()) {
            it->second.push_back(k.info->version);
        }
    }
    return out;
}

value group_entry(const std::string& group, const std::vector<std::string>& versions, arena& a) {
    value list = json::array();
    for (const std::string& v : versions) {
        value e = json::object();
        json::set(e, "groupVersion", group + "/" + v, a);
        json::set(e, "version", v, a);
        list.PushBack(e, a);
    }
    value g = json::object();
    json::set(g, "name", group, a);
    value preferred = json::copy(list[0], a);
    json::set(g, "versions", std::move(list), a);
    json::set(g, "preferredVersion", std::move(preferred), a);
    return g;
}

}  // namespace

std::string discovery_versions() {
    return "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],\"serverAddressByClientCIDRs\":[]}";
}

std::string discovery_groups(const registry& kinds) {
    arena a;
    value list = json::array();
    for (const auto& [group, versions] : groups_of(kinds)) {
        if (!group.empty()) {
            list.PushBack(group_entry(group, versions, a).Move(), a);
        }
    }
    value out = json::object();
    json::set(out, "kind", "APIGroupList", a);
    json::set(out, "apiVersion", "v1", a);
    json::set(out, "groups", std::move(list), a);
    return json::to_text(out);
}

std::string discovery_group(const registry& kinds, std::string_view group) {
    for (const auto& [name, versions] : groups_of(kinds)) {
        if (name == group && !name.empty()) {
            arena a;
            value out = group_entry(name, versions, a);
            json::set(out, "kind", "APIGroup", a);
            json::set(out, "apiVersion", "v1", a);
            return json::to_text(out);
        }
    }
    return {};
}

std::string discovery_resources(
    const registry& kinds, std::string_view group, std::string_view version
) {
    arena a;
    value list = json::array();
    for (const served_kind& k : kinds.all()) {
        if (k.info->group != group || k.info->version != version) {
            continue;
        }
        list.PushBack(resource_entry(*k.info, a).Move(), a);
        for (const subresource& s : subresources_of(*k.info)) {
            list.PushBack(subresource_entry(*k.info, s, a).Move(), a);
        }
    }
    value out = json::object();
    json::set(out, "kind", "APIResourceList", a);
    json::set(out, "apiVersion", "v1", a);
    json::set(
        out,
        "groupVersion",
        group.empty() ? std::string(version) : fmt::format("{}/{}", group, version),
        a
    );
    json::set(out, "resources", std::move(list), a);
    return json::to_text(out);
}

std::string aggregated_discovery(const registry& kinds, api_root root) {
    arena a;
    value items = json::array();
    for (const auto& [group, versions] : groups_of(kinds)) {
        if (group.empty() != (root == api_root::core)) {
            continue;
        }
        value list = json::array();
        for (const std::string& version : versions) {
            value resources = json::array();
            for (const served_kind& k : kinds.all()) {
                if (k.info->group == group && k.info->version == version) {
                    resources.PushBack(aggregated_resource(*k.info, a).Move(), a);
                }
            }
            value v = json::object();
            json::set(v, "version", version, a);
            json::set(v, "resources", std::move(resources), a);
            json::set(v, "freshness", "Current", a);
            list.PushBack(v, a);
        }
        value item = json::object();
        value metadata = json::object();
        json::set(metadata, "name", group, a);
        json::set(item, "metadata", std::move(metadata), a);
        json::set(item, "versions", std::move(list), a);
        items.PushBack(item, a);
    }
    value out = json::object();
    json::set(out, "kind", "APIGroupDiscoveryList", a);
    json::set(out, "apiVersion", "apidiscovery.k8s.io/v2", a);
    json::set(out, "metadata", json::object(), a);
    json::set(out, "items", std::move(items), a);
    return json::to_text(out);
}

}  // namespace signalbox::k8sio::server
