// SPDX-License-Identifier: Apache-2.0
//
// Updates: conflict, preconditions, immutable metadata, status separation, generation, no-op.
#include "protocol/http_date.hpp"
#include "server/kinds/refusals.hpp"
#include "server/model/model.hpp"
#include "server/schema/schema.hpp"
#include "server/values/problems.hpp"
#include "server/values/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace signalbox::k8sio::server {
namespace {

using json::value;

/// Makes the member of `next` what it is in `old`, or absent.
void keep(value& next, const value& old, std::string_view key, json::arena& a) {
    if (const value* v = json::member(old, key)) {
        json::set(next, key, json::copy(*v, a), a);
    } else {
        json::remove(next, key);
    }
}

bool is_part(const kind_info& kind, std::string_view member) {
    return member != "metadata" && member != "apiVersion" && member != "kind" &&
           !(member == "status" && kind.has(trait::status));
}

/// Only the status of `next` is taken over: for custom resources nothing else at all, for built-in
/// kinds also labels and annotations (the strategies of the real server).
void only_status(const kind_info& kind, const value& old, value& next, json::arena& a) {
    value status;
    if (const value* s = json::member(next, "status")) {
        status.CopyFrom(*s, a);
    }
    value metadata;
    if (!kind.has(trait::custom)) {
        metadata.CopyFrom(*json::find(next, "metadata"), a);
        keep(metadata, *json::find(old, "metadata"), "ownerReferences", a);
    }
    next.CopyFrom(old, a);
    if (!metadata.IsNull()) {
        json::set(next, "metadata", std::move(metadata), a);
    }
    if (status.IsNull()) {
        json::remove(next, "status");
    } else {
        json::set(next, "status", std::move(status), a);
    }
}

}  // namespace

bool spec_differs(const kind_info& kind, const value& x, const value& y) {
    const auto missing_or_other = [&kind](const value& from, const value& in) {
        for (const auto& m : from.GetObject()) {
            if (!is_part(kind, json::view(m.name))) {
                continue;
            }
            const value* other = json::member(in, json::view(m.name));
            if (other == nullptr || !json::equal(*other, m.value)) {
                return true;
            }
        }
        return false;
    };
    return missing_or_other(x, y) || missing_or_other(y, x);
}

outcome<void> model::check_update_metadata(
    const kind_info& kind,
    const record& current,
    const value& old,
    value& next,
    json::arena& a,
    update_part part,
    update_by by
) const {
    value& metadata = json::object_at(next, "metadata", a);
    const value& before = *json::find(old, "metadata");
    const std::string_view uid = json::string_at(metadata, {"uid"});
    // As seen on the real server: a UID in a PUT is a precondition (409), one in a patch is a
    // change of an immutable field (422), and in a patch of a custom resource's status it is not
    // looked at.
    if (by == update_by::put && !uid.empty() && uid != current.uid) {
        return conflict(
            kind,
            current.name,
            fmt::format(
                "Precondition failed: UID in precondition: {}, UID in object meta: {}",
                uid,
                current.uid
            )
        );
    }
    const std::string_view version = json::string_at(metadata, {"resourceVersion"});
    if (!version.empty() && version != std::to_string(current.version)) {
        return stale_write(kind, current.name);
    }
    if (part == update_part::status && kind.has(trait::custom) && by == update_by::patch) {
        return {};  // metadata is not taken over
    }
    problems list;
    if (version.empty() && kind.has(trait::custom)) {
        // Custom resources cannot be updated unconditionally (REQUIREMENTS.md X4). As on a real
        // server the text names the resource, not the kind.
        list.invalid("metadata.resourceVersion", json::value(0), "must be specified for an update");
        kind_info by_resource = kind;
        by_resource.kind = kind.plural;
        return invalid(by_resource, current.name, list);
    }
    for (const char* key :
         {"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "uid"}) {
        const value* sent = json::find(metadata, key);
        const value* have = json::find(before, key);
        if (sent != nullptr && (have == nullptr || *sent != *have)) {
            list.invalid(std::string("metadata.") + key, *sent, "field is immutable");
        }
        keep(metadata, before, key, a);
    }
    keep(metadata, before, "generation", a);
    keep(metadata, before, "namespace", a);
    keep(metadata, before, "resourceVersion", a);
    if (current.deleting) {
        std::vector<std::string> added;
        if (const value* finalizers = json::find(metadata, "finalizers");
            finalizers != nullptr && finalizers->IsArray()) {
            for (const value& f : finalizers->GetArray()) {
                if (!current.has_finalizer(json::scalar_text(f))) {
                    added.push_back(quoted(json::scalar_text(f)));
                }
            }
        }
        if (!added.empty()) {  // REQUIREMENTS.md X9
            list.forbidden(
                "metadata.finalizers",
                fmt::format(
                    "no new finalizers can be added if the object is being deleted, found new "
                    "finalizers []string{{{}}}",
                    fmt::join(added, ", ")
                )
            );
        }
    }
    if (!list.empty()) {
        return invalid(kind, current.name, list);
    }
    return {};
}

outcome<record_ptr> model::update(
    const served_kind& k,
    std::string_view ns,
    std::string_view name,
    value& object,
    json::arena& a,
    update_part part,
    const write_options& options
) {
    const kind_info& kind = *k.info;
    if (const auto ok = take_body(kind, object, a, options); !ok) {
        return ok.error();
    }
    value& metadata = json::object_at(object, "metadata", a);
    const std::string_view own_name = json::string_at(metadata, {"name"});
    if (own_name != name) {
        return bad_request(
            own_name.empty()
                ? "name must be provided"
                : fmt::format(
                      "the name of the object ({}) does not match the name on the URL ({})",
                      own_name,
                      name
                  )
        );
    }
    const std::string_view own_ns = json::string_at(metadata, {"namespace"});
    if (!own_ns.empty() && own_ns != ns) {
        return bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        );
    }
    const record_ptr current = k.table->find(ns, name);
    if (current == nullptr) {
        if (kind.has(trait::create_on_update) && part == update_part::main &&
            json::string_at(metadata, {"uid"}).empty()) {
            json::remove(metadata, "resourceVersion");
            return create(k, ns, object, a, options);
        }
        return not_found(kind, name);
    }
    const value old = parse_record(kind, *current, a);
    if (const auto ok = check_update_metadata(kind, *current, old, object, a, part, options.by);
        !ok) {
        return ok.error();
    }
    if (part == update_part::status) {
        only_status(kind, old, object, a);
    } else if (kind.has(trait::status)) {
        keep(object, old, "status", a);
    }
    if (kind.defaults != nullptr) {
        kind.defaults(object, a);
    }
    if (const auto ok = check_schema(kind, name, &old, object, a, options); !ok) {
        return ok.error();
    }
    problems list;
    if (kind.validate_update != nullptr && part == update_part::main) {
        kind.validate_update(old, object, list);
    }
    if (!list.empty()) {
        return invalid(kind, name, list);
    }
    if (is_too_large(object, a)) {
        return too_large_object();
    }
    if (options.dry_run) {
        return make_record(*k.table->kind, object, current->version, a);
    }
    return replace(k, current, object, a);
}

record_ptr model::replace(
    const served_kind& k, const record_ptr& current, value& next, json::arena& a
) {
    const kind_info& kind = *k.info;
    const value old = parse_record(kind, *current, a);
    value& metadata = json::object_at(next, "metadata", a);
    if (kind.has(trait::generation) && spec_differs(kind, old, next)) {
        const auto generation = json::int_at(metadata, {"generation"}).value_or(0);
        json::set(metadata, "generation", value(generation + 1), a);
    }
    json::set(metadata, "resourceVersion", std::to_string(current->version), a);
    if (json::equal(old, next)) {
        return current;  // a no-op gets no new version
    }
    const record_ptr r = make_record(*k.table->kind, next, store_.version() + 1, a);
    const bool done = r->deleting && r->finalizers.empty() &&
                      json::int_at(metadata, {"deletionGracePeriodSeconds"}).value_or(0) == 0;
    if (done && !current->finalizers.empty()) {
        // The last finalizer is gone: removed without a further MODIFIED event.
        return store_.erase(*k.table, *current);
    }
    store_.next_version();
    store_.put(*k.table, r);
    return r;
}

outcome<void> model::bind(
    const served_kind& pods, std::string_view ns, std::string_view name, std::string_view node
) {
    const record_ptr current = pods.table->find(ns, name);
    if (current == nullptr) {
        return not_found(*pods.info, name);
    }
    json::arena a;
    value pod = parse_record(*pods.info, *current, a);
    kind_info binding = *pods.info;
    binding.plural = "pods/binding";
    if (current->deleting) {
        return conflict(
            binding,
            name,
            fmt::format("pod {} is being deleted, cannot be assigned to a host", name)
        );
    }
    const std::string_view assigned = json::string_at(pod, {"spec", "nodeName"});
    if (!assigned.empty()) {
        return conflict(
            binding,
            name,
            fmt::format("pod {} is already assigned to node {}", name, quoted(assigned))
        );
    }
    if (const value* gates = json::find_path(pod, {"spec", "schedulingGates"});
        gates != nullptr && gates->IsArray() && !gates->Empty()) {
        return conflict(
            binding, name, fmt::format("pod {} has non-empty .spec.schedulingGates", name)
        );
    }
    json::set(json::object_at(pod, "spec", a), "nodeName", node, a);
    value& status = json::object_at(pod, "status", a);
    value* conditions = json::find(status, "conditions");
    if (conditions == nullptr || !conditions->IsArray()) {
        json::set(status, "conditions", json::array(), a);
        conditions = json::find(status, "conditions");
    }
    for (auto it = conditions->Begin(); it != conditions->End();) {
        it = json::string_at(*it, {"type"}) == "PodScheduled" ? conditions->Erase(it) : it + 1;
    }
    value scheduled = json::object();
    json::set(scheduled, "type", "PodScheduled", a);
    json::set(scheduled, "status", "True", a);
    json::set(scheduled, "lastTransitionTime", protocol::format_api_time(time_->wall_now()), a);
    conditions->PushBack(scheduled, a);
    replace(pods, current, pod, a);
    return {};
}

}  // namespace signalbox::k8sio::server
