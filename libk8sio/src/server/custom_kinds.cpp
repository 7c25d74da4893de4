// SPDX-License-Identifier: Apache-2.0
#include "server/custom_kinds.hpp"

#include "server/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

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
        for (const char c : k.kind) {
            k.singular += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        }
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

value condition(
    std::string_view type,
    std::string_view reason,
    std::string_view message,
    std::string_view time,
    json::arena& a
) {
    value c = json::object();
    json::set(c, "type", type, a);
    json::set(c, "status", "True", a);
    json::set(c, "lastTransitionTime", time, a);
    json::set(c, "reason", reason, a);
    json::set(c, "message", message, a);
    return c;
}

}  // namespace

namespace {

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

}  // namespace

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
            list.required(
                fmt::format("spec.versions[{}].schema.openAPIV3Schema", i), "schemas are required"
            );
        }
    }
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

std::string custom_kinds::name_of(std::string_view crd_json) {
    json::arena a;
    value crd;
    json::parse(crd, crd_json, a);
    return std::string(json::string_at(crd, {"metadata", "name"}));
}

void custom_kinds::set_validator(const std::string& definition_name, validator check) {
    validators_[definition_name] = std::move(check);
}

outcome<void> custom_kinds::add(std::string_view crd_json, validator check) {
    json::arena a;
    value crd;
    if (const auto error = json::parse(crd, crd_json, a)) {
        return bad_request("the definition is no valid JSON: " + *error);
    }
    const std::string name(json::string_at(crd, {"metadata", "name"}));
    const served_kind definitions =
        *world_->kinds().find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    validators_[name] = std::move(check);
    const record_ptr current = definitions.table->find("", name);
    const outcome<record_ptr> written =
        current == nullptr ? world_->create(definitions, "", crd, a, {})
                           : world_->update(definitions, "", name, crd, a, update_part::main, {});
    if (!written) {
        return written.error();
    }
    if (current != nullptr) {
        served_generations_.erase(current->uid);  // the validator may be new
        serve(definitions.table->find("", name));
    }
    settle();
    return {};
}

void custom_kinds::on_write(const resource_table& table, const history_event& event) {
    if (table.kind->plural == "customresourcedefinitions") {
        pending_.push_back(event);
    }
}

void custom_kinds::settle() {
    while (!pending_.empty()) {
        const history_event event = std::move(pending_.front());
        pending_.pop_front();
        if (event.what == change::deleted) {
            drop(*event.after);
        } else if (event.before == nullptr || event.before->tail != event.after->tail) {
            serve(event.after);
        }
    }
}

void custom_kinds::serve(const record_ptr& definition) {
    json::arena a;
    const served_kind definitions =
        *world_->kinds().find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    const value crd = parse_record(*definitions.info, *definition, a);
    const std::int64_t generation = json::int_at(crd, {"metadata", "generation"}).value_or(0);
    const auto [served, is_new] = served_generations_.try_emplace(definition->uid, generation);
    if (is_new || served->second != generation) {
        served->second = generation;
        serve_versions(*definition, crd);
    }
    if (json::find_path(crd, {"status", "acceptedNames"}) == nullptr) {
        set_status(definition, crd);
    }
}

void custom_kinds::serve_versions(const record& definition, const value& crd) {
    for (const value& version : json::find_path(crd, {"spec", "versions"})->GetArray()) {
        kind_info k = kind_of_version(crd, version);
        if (const auto it = validators_.find(definition.name); it != validators_.end()) {
            k.check = it->second;
        }
        if (json::bool_at(version, {"served"})) {
            world_->kinds().serve(std::move(k));
        } else {
            world_->kinds().remove_version(k.group, k.version, k.plural);
        }
    }
}

void custom_kinds::set_status(const record_ptr& definition, const value& object) {
    const served_kind definitions =
        *world_->kinds().find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    json::arena a;
    value crd = json::copy(object, a);
    value& status = json::object_at(crd, "status", a);
    const std::string now = rfc3339(world_->time().wall_now());
    value conditions = json::array();
    conditions.PushBack(
        condition("NamesAccepted", "NoConflicts", "no conflicts found", now, a).Move(), a
    );
    conditions.PushBack(
        condition(
            "Established", "InitialNamesAccepted", "the initial names have been accepted", now, a
        )
            .Move(),
        a
    );
    json::set(status, "conditions", std::move(conditions), a);
    json::set(
        status, "acceptedNames", json::copy(*json::find_path(object, {"spec", "names"}), a), a
    );
    value stored = json::array();
    for (const value& version : json::find_path(object, {"spec", "versions"})->GetArray()) {
        if (json::bool_at(version, {"storage"})) {
            stored.PushBack(json::copy(*json::find(version, "name"), a), a);
        }
    }
    json::set(status, "storedVersions", std::move(stored), a);
    const record_ptr current = definitions.table->find("", definition->name);
    if (current != nullptr && current->version == definition->version) {
        world_->replace(definitions, current, crd, a);
    }
}

void custom_kinds::drop(const record& definition) {
    served_generations_.erase(definition.uid);
    const std::size_t dot = definition.name.find('.');
    const std::string plural = definition.name.substr(0, dot);
    const std::string group = definition.name.substr(dot + 1);
    // Instances go first, so that their dependents are collected and watches see the deletions.
    if (resource_table* table = world_->objects().find_table(group, plural)) {
        for (const record_ptr& r : table->list("")) {
            world_->objects().erase(*table, *r);
        }
    }
    world_->kinds().remove(group, plural);
}

}  // namespace signalbox::k8sio::server
