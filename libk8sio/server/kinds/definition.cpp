// SPDX-License-Identifier: Apache-2.0
#include "server/kinds/definition.hpp"

#include "server/kinds/rule_costs.hpp"
#include "server/schema/schema.hpp"
#include "server/values/text.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::k8sio::server {
namespace {

using json::value;

std::vector<std::string> strings(const value& v, std::string_view key) {
    std::vector<std::string> out;
    if (const value* list = json::find(v, key); list && list->IsArray()) {
        for (const value& e : list->GetArray()) {
            out.push_back(json::scalar_text(e));
        }
    }
    return out;
}

std::vector<column> columns_of(const value& version) {
    std::vector<column> out = {{"Name", ".metadata.name", "string", 0, nullptr, "", "name"}};
    const value* list = json::find(version, "additionalPrinterColumns");
    if (list == nullptr || !list->IsArray() || list->Empty()) {
        out.push_back({"Age", ".metadata.creationTimestamp", "date"});
        return out;
    }
    for (const value& c : list->GetArray()) {
        out.push_back(
            {std::string(json::string_at(c, {"name"})),
             std::string(json::string_at(c, {"jsonPath"})),
             std::string(json::string_at(c, {"type"})),
             static_cast<int>(json::int_at(c, {"priority"}).value_or(0)),
             nullptr,
             std::string(json::string_at(c, {"description"})),
             std::string(json::string_at(c, {"format"}))}
        );
    }
    return out;
}

/// `x is of the type string`; of objects and lists only empty ones as Go prints them.
std::string as_go_shows_it(const value& v) {
    const std::string shown = v.IsNull() ? "<nil>" : v.IsObject() ? "map[]" : json::scalar_text(v);
    const std::string_view type = v.IsNull()     ? "<nil>"
                                  : v.IsObject() ? "map[string]interface {}"
                                  : v.IsArray()  ? "[]interface {}"
                                  : v.IsString() ? "string"
                                  : v.IsBool()   ? "bool"
                                  : v.IsInt64()  ? "int64"
                                                 : "float64";
    return fmt::format("{} is of the type {}", shown, type);
}

/// The words of Go's regexp package, where RE2 has others.
std::string_view pattern_fault(re2::RE2::ErrorCode code) {
    switch (code) {
        case re2::RE2::ErrorBadEscape:
            return "invalid escape sequence";
        case re2::RE2::ErrorBadCharClass:
            return "invalid character class";
        case re2::RE2::ErrorBadCharRange:
            return "invalid character class range";
        case re2::RE2::ErrorMissingBracket:
            return "missing closing ]";
        case re2::RE2::ErrorMissingParen:
            return "missing closing )";
        case re2::RE2::ErrorTrailingBackslash:
            return "trailing backslash at end of expression";
        case re2::RE2::ErrorRepeatArgument:
            return "missing argument to repetition operator";
        case re2::RE2::ErrorRepeatSize:
            return "invalid repeat count";
        case re2::RE2::ErrorRepeatOp:
            return "invalid nested repetition operator";
        case re2::RE2::ErrorBadPerlOp:
            return "invalid or unsupported Perl syntax";
        case re2::RE2::ErrorBadUTF8:
            return "invalid UTF-8";
        case re2::RE2::ErrorBadNamedCapture:
            return "invalid named capture";
        case re2::RE2::ErrorPatternTooLarge:
            return "expression nests too deeply";
        default:
            return "unexpected error";
    }
}

/// What the patterns of one definition may be together, compiled: a short text can be a large one.
constexpr int max_pattern_size = 1'000'000;

/// Looks through the patterns of a schema and below; `size`: what those before have come to.
void validate_patterns(const value& schema, const std::string& at, int& size, problems& list) {
    if (!schema.IsObject() || size > max_pattern_size) {
        return;
    }
    if (const std::string text(json::string_at(schema, {"pattern"})); !text.empty()) {
        const re2::RE2 pattern(text, re2::RE2::Quiet);
        if (!pattern.ok()) {
            list.invalid(
                at + ".pattern",
                std::string_view(text),
                fmt::format(
                    "must be a valid regular expression, but isn't: error parsing regexp: {}: `{}`",
                    pattern_fault(pattern.error_code()),
                    pattern.error_arg()
                )
            );
        } else if ((size += pattern.ProgramSize()) > max_pattern_size) {
            list.forbidden(at + ".pattern", "the patterns of the definition are too large");
        }
    }
    for (const char* key : {"items", "additionalProperties", "not"}) {
        if (const value* part = json::find(schema, key)) {
            validate_patterns(*part, fmt::format("{}.{}", at, key), size, list);
        }
    }
    for (const char* key : {"allOf", "anyOf", "oneOf"}) {
        const value* parts = json::find(schema, key);
        for (rapidjson::SizeType i = 0; parts && parts->IsArray() && i < parts->Size(); ++i) {
            validate_patterns((*parts)[i], fmt::format("{}.{}[{}]", at, key, i), size, list);
        }
    }
    if (const value* parts = json::find(schema, "properties"); parts && parts->IsObject()) {
        for (const auto& m : parts->GetObject()) {
            const std::string below = fmt::format("{}.properties[{}]", at, json::view(m.name));
            validate_patterns(m.value, below, size, list);
        }
    }
}

/// Where all versions have one schema, the real server shows it as the definition's.
void validate_schemas(const value& versions, problems& list) {
    const auto schema_of = [](const value& version) {
        return json::find_path(version, {"schema", "openAPIV3Schema"});
    };
    const value* first = schema_of(*versions.Begin());
    const bool same = std::all_of(versions.Begin(), versions.End(), [&](const value& version) {
        const value* its = schema_of(version);
        return first != nullptr && its != nullptr && json::equal(*first, *its);
    });
    int size = 0;
    for (rapidjson::SizeType i = 0; i < (same ? 1 : versions.Size()); ++i) {
        if (const value* schema = schema_of(versions[i])) {
            const std::string of = same ? "validation" : fmt::format("versions[{}].schema", i);
            const std::string at = fmt::format("spec.{}.openAPIV3Schema", of);
            const std::size_t before = list.size();
            validate_patterns(*schema, at, size, list);
            if (list.size() == before) {
                validate_rule_costs(*schema, at, list);
            }
        }
    }
}

}  // namespace

kind_info kind_of_version(const value& crd, const value& version) {
    const value& spec = *json::find(crd, "spec");
    const value& names = *json::find(spec, "names");
    kind_info k;
    k.group = json::string_at(spec, {"group"});
    k.version = json::string_at(version, {"name"});
    k.plural = json::string_at(names, {"plural"});
    k.kind = json::string_at(names, {"kind"});
    k.singular = json::string_at(names, {"singular"});
    if (k.singular.empty()) {
        k.singular = lower(k.kind);
    }
    k.short_names = strings(names, "shortNames");
    k.categories = strings(names, "categories");
    k.traits = trait::custom | trait::generation;
    if (json::string_at(spec, {"scope"}) == "Cluster") {
        k.traits |= trait::cluster;
    }
    if (json::find_path(version, {"subresources", "status"}) != nullptr) {
        k.traits |= trait::status;
    }
    if (const value* scale = json::find_path(version, {"subresources", "scale"})) {
        k.scale = std::make_shared<const scale_paths>(scale_paths{
            std::string(json::string_at(*scale, {"specReplicasPath"})),
            std::string(json::string_at(*scale, {"statusReplicasPath"})),
            std::string(json::string_at(*scale, {"labelSelectorPath"}))});
    }
    if (const value* list = json::find(version, "selectableFields"); list && list->IsArray()) {
        for (const value& f : list->GetArray()) {
            const std::string_view path = json::string_at(f, {"jsonPath"});
            k.selectable.emplace_back(path.substr(path.empty() || path.front() != '.' ? 0 : 1));
        }
    }
    if (const value* schema = json::find_path(version, {"schema", "openAPIV3Schema"})) {
        k.schema = schema_node::compile(*schema);
        k.openapi = json::to_text(*schema);
    }
    k.columns = columns_of(version);
    k.storage_version = json::bool_at(version, {"storage"});
    return k;
}

void default_definition(value& crd, json::arena& a) {
    value& spec = json::object_at(crd, "spec", a);
    value& names = json::object_at(spec, "names", a);
    if (const std::string kind(json::string_at(names, {"kind"})); !kind.empty()) {
        json::set_default(names, "singular", lower(kind), a);
        json::set_default(names, "listKind", kind + "List", a);
    }
    json::set_default(json::object_at(spec, "conversion", a), "strategy", "None", a);
}

void validate_definition(const value& crd, problems& list) {
    const std::string_view group = json::string_at(crd, {"spec", "group"});
    const std::string_view plural = json::string_at(crd, {"spec", "names", "plural"});
    const std::string_view scope = json::string_at(crd, {"spec", "scope"});
    if (group.empty()) {
        list.required("spec.group");
    }
    for (const char* key : {"plural", "kind"}) {
        if (json::string_at(crd, {"spec", "names", key}).empty()) {
            list.required(std::string("spec.names.") + key);
        }
    }
    if (scope != "Namespaced" && scope != "Cluster") {
        const value* bad = json::find_path(crd, {"spec", "scope"});
        if (bad == nullptr) {
            list.required("spec.scope");
        } else {
            list.unsupported("spec.scope", *bad, {"Cluster", "Namespaced"});
        }
    }
    const std::string_view name = json::string_at(crd, {"metadata", "name"});
    if (name != fmt::format("{}.{}", plural, group)) {
        list.invalid("metadata.name", name, "must be spec.names.plural+\".\"+spec.group");
    }
    const value* versions = json::find_path(crd, {"spec", "versions"});
    if (versions == nullptr || !versions->IsArray() || versions->Empty()) {
        list.required("spec.versions");
        return;
    }
    int storage = 0;
    for (rapidjson::SizeType i = 0; i < versions->Size(); ++i) {
        const value& v = (*versions)[i];
        storage += json::bool_at(v, {"storage"}) ? 1 : 0;
        if (json::find_path(v, {"schema", "openAPIV3Schema"}) == nullptr) {
            list.required(fmt::format("spec.versions[{}].schema.openAPIV3Schema", i));
        }
    }
    validate_schemas(*versions, list);
    if (storage != 1) {
        list.invalid(
            "spec.versions", *versions, "must have exactly one version marked as storage version"
        );
    }
}

void validate_scale(const scale_paths& paths, const value& object, problems& list) {
    for (const std::string& path : {paths.spec_replicas, paths.status_replicas}) {
        const value* at = &object;
        std::string_view rest = path;
        while (at != nullptr && !rest.empty()) {
            rest.remove_prefix(1);
            if (!at->IsObject()) {
                break;
            }
            const std::string_view name = rest.substr(0, rest.find('.'));
            at = json::member(*at, name);
            rest.remove_prefix(name.size());
        }
        const bool whole = rest.empty();
        if (at != nullptr && !whole && at->IsNull()) {
            continue;  // an object that is not there has no fields
        }
        if (at != nullptr && (!whole || !at->IsInt64())) {
            list.invalid(
                path,
                value(0),
                fmt::format(
                    "{} accessor error: {}, expected {}",
                    path,
                    as_go_shows_it(*at),
                    whole ? "int64" : "map[string]interface{}"
                )
            );
        } else if (at != nullptr && at->GetInt64() < 0) {
            list.invalid(path, *at, "should be a non-negative integer");
        } else if (at != nullptr && at->GetInt64() > std::numeric_limits<std::int32_t>::max()) {
            list.invalid(path, *at, "should be less than or equal to 2147483647");
        }
    }
}

}  // namespace signalbox::k8sio::server
