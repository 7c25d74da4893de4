// SPDX-License-Identifier: Apache-2.0
#include "server/controllers/custom_kinds.hpp"

#include "protocol/http_date.hpp"
#include "server/kinds/definition.hpp"

#include <utility>

namespace signalbox::k8sio::server {
namespace {

using json::value;

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

outcome<void> custom_kinds::add(std::string_view crd_json) {
    json::arena a;
    value crd;
    if (const auto error = json::parse(crd, crd_json, a)) {
        return bad_request("the definition is no valid JSON: " + *error);
    }
    const std::string name(json::string_at(crd, {"metadata", "name"}));
    const served_kind definitions =
        *world_->kinds().find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    const record_ptr current = definitions.table->find("", name);
    const outcome<record_ptr> written =
        current == nullptr ? world_->create(definitions, "", crd, a, {})
                           : world_->update(definitions, "", name, crd, a, update_part::main, {});
    if (!written) {
        return written.error();
    }
    settle();
    return {};
}

void custom_kinds::share(const custom_kinds& other) {
    served_generations_ = other.served_generations_;
    for (const served_kind& each : other.world_->kinds().all()) {
        if ((each.info->traits & trait::custom) != 0) {
            world_->kinds().serve(*each.info);
        } else if (each.info->plural == "customresourcedefinitions") {
            const served_kind here =
                *world_->kinds().find(each.info->group, each.info->version, each.info->plural);
            for (const record_ptr& definition : each.table->list("")) {
                world_->objects().put(
                    *here.table, with_version(*definition, world_->objects().next_version())
                );
            }
        }
    }
    pending_.clear();  // their kinds are served already
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
        serve_versions(crd);
    }
    if (json::find_path(crd, {"status", "acceptedNames"}) == nullptr) {
        set_status(definition, crd);
    }
}

void custom_kinds::serve_versions(const value& crd) {
    for (const value& version : json::find_path(crd, {"spec", "versions"})->GetArray()) {
        kind_info k = kind_of_version(crd, version);
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
    const std::string now = protocol::format_api_time(world_->time().wall_now());
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
