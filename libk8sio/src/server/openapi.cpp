// SPDX-License-Identifier: Apache-2.0
//
// OpenAPI documents: the schemas of custom kinds in full; built-in kinds as open objects (kubectl
// has their Go types). The paths tell kubectl that the server validates fields and knows dryRun.
#include "server/front.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace signalbox::k8sio::server {
namespace {

using json::arena;
using json::value;

/// Reverse-DNS name of the definition: `io.tensorstack.batch.v1beta1.DeepSpeedJob`.
std::string definition_name(const kind_info& k) {
    if (!k.has(trait::custom)) {
        const std::string part = k.group.empty() ? "core" : k.group.substr(0, k.group.find('.'));
        return "io.k8s.api." + part + "." + k.version + "." + k.kind;
    }
    std::string out;
    std::string rest = k.group;
    while (!rest.empty()) {
        const std::size_t dot = rest.rfind('.');
        out += rest.substr(dot == std::string::npos ? 0 : dot + 1) + ".";
        rest = dot == std::string::npos ? "" : rest.substr(0, dot);
    }
    return out + k.version + "." + k.kind;
}

value gvk_of(const kind_info& k, arena& a) {
    value g = json::object();
    json::set(g, "group", k.group, a);
    json::set(g, "version", k.version, a);
    json::set(g, "kind", k.kind, a);
    return g;
}

value schema_of(const kind_info& k, arena& a) {
    value schema = json::object();
    if (!k.openapi.empty()) {
        json::parse(schema, k.openapi, a);
    } else {
        json::set(schema, "x-kubernetes-preserve-unknown-fields", value(true), a);
    }
    json::set(schema, "type", "object", a);
    value& properties = json::object_at(schema, "properties", a);
    for (const char* key : {"apiVersion", "kind"}) {
        if (json::find(properties, key) == nullptr) {
            json::set(json::object_at(properties, key, a), "type", "string", a);
        }
    }
    value& metadata = json::object_at(properties, "metadata", a);
    json::set_default(metadata, "type", "object", a);
    json::set_default(metadata, "description", "Standard object's metadata.", a);
    json::set(metadata, "x-kubernetes-preserve-unknown-fields", value(true), a);
    value list = json::array();
    list.PushBack(gvk_of(k, a), a);
    json::set(schema, "x-kubernetes-group-version-kind", std::move(list), a);
    return schema;
}

value query_parameter(std::string_view name, arena& a) {
    value p = json::object();
    json::set(p, "name", name, a);
    json::set(p, "in", "query", a);
    value type = json::object();
    json::set(type, "type", "string", a);
    json::set(p, "schema", std::move(type), a);
    return p;
}

value operation(
    const kind_info& k, std::string_view action, const std::vector<std::string>& bodies, arena& a
) {
    value op = json::object();
    json::set(op, "x-kubernetes-action", action, a);
    json::set(op, "x-kubernetes-group-version-kind", gvk_of(k, a), a);
    value parameters = json::array();
    for (const char* name : {"dryRun", "fieldManager", "fieldValidation"}) {
        parameters.PushBack(query_parameter(name, a).Move(), a);
    }
    json::set(op, "parameters", std::move(parameters), a);
    value reference = json::object();
    json::set(reference, "$ref", "#/components/schemas/" + definition_name(k), a);
    value wrapped = json::object();
    json::set(wrapped, "schema", std::move(reference), a);
    if (!bodies.empty()) {
        value content = json::object();
        for (const std::string& type : bodies) {
            json::set(content, type, json::copy(wrapped, a), a);
        }
        json::set(json::object_at(op, "requestBody", a), "content", std::move(content), a);
    }
    value content = json::object();
    json::set(content, "application/json", std::move(wrapped), a);
    value ok = json::object();
    json::set(ok, "description", "OK", a);
    json::set(ok, "content", std::move(content), a);
    json::set(json::object_at(op, "responses", a), "200", std::move(ok), a);
    return op;
}

/// The paths of a kind under one root, with the operations that clients look at.
void add_paths(value& paths, const kind_info& k, const std::string& root, arena& a) {
    const std::string base = "/" + root + (k.namespaced() ? "/namespaces/{namespace}/" : "/");
    value collection = json::object();
    json::set(collection, "get", operation(k, "list", {}, a), a);
    json::set(collection, "post", operation(k, "post", {"application/json"}, a), a);
    value one = json::object();
    json::set(one, "get", operation(k, "get", {}, a), a);
    json::set(one, "put", operation(k, "put", {"application/json"}, a), a);
    // The strategic form is left out: kubectl then merges built-in kinds by its own Go types.
    json::set(
        one,
        "patch",
        operation(
            k,
            "patch",
            {"application/apply-patch+yaml",
             "application/json-patch+json",
             "application/merge-patch+json"},
            a
        ),
        a
    );
    json::set(one, "delete", operation(k, "delete", {}, a), a);
    json::set(paths, base + k.plural, std::move(collection), a);
    json::set(paths, base + k.plural + "/{name}", std::move(one), a);
}

std::string root_of(const kind_info& k) {
    return k.group.empty() ? "api/" + k.version : "apis/" + k.group + "/" + k.version;
}

constexpr std::string_view server_title = "Signalbox embedded API server";

value info(arena& a) {
    value v = json::object();
    json::set(v, "title", server_title, a);
    json::set(v, "version", "v1", a);
    return v;
}

}  // namespace

std::string openapi_v3_index(const registry& kinds) {
    arena a;
    value paths = json::object();
    for (const served_kind& k : kinds.all()) {
        const std::string root = root_of(*k.info);
        // The hash lets clients cache: it changes whenever a schema does.
        std::size_t hash = 0;
        for (const served_kind& other : kinds.all()) {
            if (root_of(*other.info) == root) {
                hash = hash * 31 + std::hash<std::string>{}(other.info->openapi + other.info->kind);
            }
        }
        value entry = json::object();
        json::set(
            entry, "serverRelativeURL", fmt::format("/openapi/v3/{}?hash={:X}", root, hash), a
        );
        json::set(paths, root, std::move(entry), a);
    }
    value out = json::object();
    json::set(out, "paths", std::move(paths), a);
    return json::to_text(out);
}

std::string openapi_v3_document(const registry& kinds, std::string_view path) {
    arena a;
    value paths = json::object();
    value schemas = json::object();
    for (const served_kind& k : kinds.all()) {
        if (root_of(*k.info) == path) {
            add_paths(paths, *k.info, std::string(path), a);
            json::set(schemas, definition_name(*k.info), schema_of(*k.info, a), a);
        }
    }
    if (schemas.ObjectEmpty()) {
        return {};
    }
    value out = json::object();
    json::set(out, "openapi", "3.0.0", a);
    json::set(out, "info", info(a), a);
    json::set(out, "paths", std::move(paths), a);
    json::set(json::object_at(out, "components", a), "schemas", std::move(schemas), a);
    return json::to_text(out);
}

std::string openapi_v2(const registry& kinds) {
    arena a;
    value definitions = json::object();
    for (const served_kind& k : kinds.all()) {
        json::set(definitions, definition_name(*k.info), schema_of(*k.info, a), a);
    }
    value out = json::object();
    json::set(out, "swagger", "2.0", a);
    json::set(out, "info", info(a), a);
    json::set(out, "paths", json::object(), a);
    json::set(out, "definitions", std::move(definitions), a);
    return json::to_text(out);
}

std::string openapi_v2_protobuf() {
    // Document of gnostic's OpenAPIv2.proto: swagger (1), info (2), with title (1) and version (2).
    // What a client knows no definition of, it leaves to the server to validate.
    const auto text = [](char number, std::string_view value) {
        return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(value.size())} +
               std::string(value);
    };
    return text(1, "2.0") + text(2, text(1, server_title) + text(2, "v1"));
}

}  // namespace signalbox::k8sio::server
