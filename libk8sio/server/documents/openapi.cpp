// SPDX-License-Identifier: Apache-2.0
//
// OpenAPI documents: the schemas of custom kinds in full, those of built-in kinds as
// typed_objects.hpp knows them, without descriptions. The paths tell kubectl that the server
// validates fields and knows dryRun.
#include "server/documents/openapi.hpp"

#include "server/built_in/typed_objects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
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

/// The schemas of one document, and where it refers to them.
class schema_writer {
public:
    schema_writer(value& schemas, std::string_view root, arena& a)
        : schemas_(schemas), root_(root), a_(a) {}

    void add(const kind_info& k);

private:
    value content(std::string_view holds);
    value fields(std::string_view type);
    value either(std::string_view number);
    value reference(std::string_view type);

    value& schemas_;
    std::string root_;  ///< `#/definitions/` or another
    arena& a_;
};

/// What a field of a built-in type holds (kubernetes/fields.hpp).
value schema_writer::content(std::string_view holds) {
    static constexpr std::string_view list = "[]";
    static constexpr std::string_view map = "map[string]";
    struct scalar {
        std::string_view holds, type, format;
    };
    static constexpr std::array scalars{
        scalar{"string", "string", ""},
        scalar{"bool", "boolean", ""},
        scalar{"int32", "integer", "int32"},
        scalar{"int64", "integer", "int64"},
        scalar{"float64", "number", "double"},
        scalar{"bytes", "string", "byte"},
        scalar{"Time", "string", "date-time"},
        scalar{"MicroTime", "string", "date-time"},
        scalar{"any", "object", ""}};
    const auto known = std::find_if(scalars.begin(), scalars.end(), [&](const scalar& s) {
        return s.holds == holds;
    });
    value out = json::object();
    if (holds.starts_with(list)) {
        json::set(out, "type", "array", a_);
        json::set(out, "items", content(holds.substr(list.size())), a_);
    } else if (holds.starts_with(map)) {
        json::set(out, "type", "object", a_);
        json::set(out, "additionalProperties", content(holds.substr(map.size())), a_);
    } else if (known == scalars.end()) {
        return reference(holds);
    } else {
        json::set(out, "type", known->type, a_);
        if (!known->format.empty()) {
            json::set(out, "format", known->format, a_);
        }
    }
    return out;
}

value schema_writer::fields(std::string_view type) {
    value properties = json::object();
    value required = json::array();
    for (const typed_field& f : fields_of(type)) {
        value field = content(f.holds);
        if (!f.values.empty()) {
            value values = json::array();
            for (std::size_t at = 0; at <= f.values.size();) {
                const std::size_t end = std::min(f.values.find('|', at), f.values.size());
                values.PushBack(json::make_string(f.values.substr(at, end - at), a_).Move(), a_);
                at = end + 1;
            }
            json::set(field, "enum", std::move(values), a_);
        }
        json::set(properties, f.name, std::move(field), a_);
        if (f.required) {
            required.PushBack(json::make_string(f.name, a_).Move(), a_);
        }
    }
    value out = json::object();
    json::set(out, "type", "object", a_);
    json::set(out, "properties", std::move(properties), a_);
    if (!required.Empty()) {
        json::set(out, "required", std::move(required), a_);
    }
    return out;
}

/// A type whose values are texts or numbers: without a type of its own it is shown by its name.
value schema_writer::either(std::string_view number) {
    value choices = json::array();
    for (const std::string_view type : {std::string_view("string"), number}) {
        value choice = json::object();
        json::set(choice, "type", type, a_);
        choices.PushBack(choice, a_);
    }
    value out = json::object();
    json::set(out, "oneOf", std::move(choices), a_);
    return out;
}

value schema_writer::reference(std::string_view type) {
    const std::string name = "io.k8s.api." + std::string(type);
    if (json::find(schemas_, name) == nullptr) {
        json::set(schemas_, name, json::object(), a_);  // types may hold themselves
        value made = type == "Quantity"      ? either("number")
                     : type == "IntOrString" ? either("integer")
                                             : fields(type);
        *json::find(schemas_, name) = std::move(made);
    }
    value out = json::object();
    json::set(out, "$ref", root_ + name, a_);
    return out;
}

void schema_writer::add(const kind_info& k) {
    arena& a = a_;
    value schema = json::object();
    const std::string type = type_name(k);
    if (!k.openapi.empty()) {
        json::parse(schema, k.openapi, a);
    } else if (is_known_type(type)) {
        schema = fields(type);
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
    if (json::find(metadata, "$ref") == nullptr) {
        json::set_default(metadata, "type", "object", a);
        json::set_default(metadata, "description", "Standard object's metadata.", a);
        json::set(metadata, "x-kubernetes-preserve-unknown-fields", value(true), a);
    }
    value list = json::array();
    list.PushBack(gvk_of(k, a), a);
    json::set(schema, "x-kubernetes-group-version-kind", std::move(list), a);
    json::set(schemas_, definition_name(k), std::move(schema), a);
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
    json::set(collection, "post", operation(k, "post", {"application/json"}, a), a);
    if (k.has(trait::review)) {
        json::set(paths, base + k.plural, std::move(collection), a);
        return;
    }
    json::set(collection, "get", operation(k, "list", {}, a), a);
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
    schema_writer writer(schemas, "#/components/schemas/", a);
    for (const served_kind& k : kinds.all()) {
        if (root_of(*k.info) == path) {
            add_paths(paths, *k.info, std::string(path), a);
            writer.add(*k.info);
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
    schema_writer writer(definitions, "#/definitions/", a);
    for (const served_kind& k : kinds.all()) {
        writer.add(*k.info);
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
