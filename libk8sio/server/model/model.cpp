// SPDX-License-Identifier: Apache-2.0
//
// Construction, reading and creating. Updates are in model_update.cpp, deletion in
// model_delete.cpp.
#include "server/model/model.hpp"

#include "protocol/http_date.hpp"
#include "server/built_in/built_in_kinds.hpp"
#include "server/built_in/typed_objects.hpp"
#include "server/kinds/definition.hpp"
#include "server/kinds/refusals.hpp"
#include "server/schema/schema.hpp"
#include "server/values/problems.hpp"
#include "server/values/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace signalbox::k8sio::server {

model::model(clock& time, const server_options& options)
    : time_(&time),
      store_(options.watch_history, options.watch_history_bytes),
      registry_(store_),
      uids_(options.uid_seed) {
    for (kind_info& kind : built_in_kinds()) {
        registry_.serve(std::move(kind));
    }
    const served_kind* namespaces = registry_.find("", "v1", "namespaces");
    for (const char* name : {"default", "kube-node-lease", "kube-public", "kube-system"}) {
        json::arena a;
        json::value object = json::object();
        json::set(json::object_at(object, "metadata", a), "name", name, a);
        (void)create(*namespaces, "", object, a, {});
    }
}

served_kind model::kind_of(const resource_table& table) const {
    for (const std::shared_ptr<resource_table>& t : store_.tables()) {
        if (t.get() == &table) {
            return {table.kind, t};
        }
    }
    return {};
}

outcome<record_ptr> model::get(const served_kind& k, std::string_view ns, std::string_view name)
    const {
    record_ptr r = k.table->find(ns, name);
    if (r == nullptr) {
        return not_found(*k.info, name);
    }
    return r;
}

namespace {

/// The answer to what cannot be decoded; a patch fails in words of its own.
refusal undecodable(
    const kind_info& kind,
    const json::value& object,
    const std::string& why,
    const write_options& options
) {
    if (options.by != update_by::patch) {
        return bad_request(fmt::format(
            "{} in version {} cannot be handled as a {}: {}",
            kind.kind,
            quoted(kind.version),
            kind.kind,
            why
        ));
    }
    problems list;
    list.add(
        "FieldValueInvalid",
        "patch",
        fmt::format("Invalid value: {}: {}", quoted(json::to_text(object)), why)
    );
    const kind_info nothing;
    return invalid(nothing, "", list);
}

/// Refuses, warns of, or passes over the faults of the body and fields that were pruned, as the
/// writer wishes.
outcome<void> tell_unknown(
    const kind_info& kind,
    const json::value& object,
    const std::vector<std::string>& unknown,
    const write_options& options
) {
    std::vector<std::string> told = options.faults;
    for (const std::string& path : unknown) {
        told.push_back("unknown field " + quoted(path));
    }
    if (!told.empty() && options.unknown == unknown_fields::strict) {
        const std::string all = fmt::format("{}", fmt::join(told, ", "));
        return undecodable(kind, object, "strict decoding error: " + all, options);
    }
    if (options.unknown == unknown_fields::warn && options.warnings != nullptr) {
        std::vector<std::string>& warnings = *options.warnings;
        for (std::string& each : told) {
            if (std::find(warnings.begin(), warnings.end(), each) == warnings.end()) {
                warnings.push_back(std::move(each));
            }
        }
    }
    return {};
}

}  // namespace

outcome<void> model::check_body(const kind_info& kind, const json::value& object) const {
    if (!object.IsObject()) {
        return bad_request("the body of the request must be an object");
    }
    const std::string_view sent_kind = json::string_at(object, {"kind"});
    const std::string_view sent_version = json::string_at(object, {"apiVersion"});
    if (kind.has(trait::custom) && sent_kind.empty()) {
        return bad_request(fmt::format(
            "the object provided is unrecognized (must be of type {}): Object 'Kind' is missing",
            kind.kind
        ));
    }
    if (kind.has(trait::custom) && sent_version != kind.api_version()) {
        return bad_request(fmt::format(
            "the API version in the data ({}) does not match the expected API version ({})",
            sent_version,
            kind.api_version()
        ));
    }
    if ((!sent_kind.empty() && sent_kind != kind.kind) ||
        (!sent_version.empty() && sent_version != kind.api_version())) {
        return bad_request(fmt::format(
            "the object provided is unrecognized (must be of type {}): {}, Kind={} does not match "
            "{}, Kind={}",
            kind.kind,
            sent_version,
            sent_kind,
            kind.api_version(),
            kind.kind
        ));
    }
    const json::value* metadata = json::find(object, "metadata");
    if (kind.has(trait::custom) && metadata != nullptr && !metadata->IsObject()) {
        return bad_request("metadata must be an object");
    }
    return {};
}

outcome<void> model::decode(
    const kind_info& kind, json::value& object, const write_options& options
) const {
    if (kind.has(trait::custom)) {
        return {};  // check_schema() does it
    }
    const decoded result = decode_typed(kind, object);
    if (!result.error.empty()) {
        return undecodable(kind, object, result.error, options);
    }
    return tell_unknown(kind, object, result.unknown, options);
}

outcome<void> model::take_body(
    const kind_info& kind, json::value& object, json::arena& a, const write_options& options
) const {
    if (const auto ok = check_body(kind, object); !ok) {
        return ok.error();
    }
    if (const auto ok = decode(kind, object, options); !ok) {
        return ok.error();
    }
    json::set(object, "apiVersion", kind.api_version(), a);
    json::set(object, "kind", kind.kind, a);
    tidy_metadata(json::object_at(object, "metadata", a), a);
    return {};
}

outcome<void> model::check_namespace(
    const kind_info& kind, std::string_view ns, std::string_view name
) const {
    if (!kind.namespaced()) {
        return {};
    }
    const served_kind* namespaces = registry_.find("", "v1", "namespaces");
    const record_ptr space = namespaces->table->find("", ns);
    if (space == nullptr) {
        return not_found(*namespaces->info, ns);
    }
    if (space->deleting) {
        refusal r = forbidden(
            kind,
            name,
            fmt::format(
                "unable to create new content in namespace {} because it is being terminated", ns
            )
        );
        r.causes.push_back(
            {"NamespaceTerminating",
             fmt::format("namespace {} is being terminated", ns),
             "metadata.namespace"}
        );
        return r;
    }
    return {};
}

outcome<void> model::check_quota(std::string_view ns, std::string_view name) const {
    const served_kind* quotas = registry_.find("", "v1", "resourcequotas");
    for (const record_ptr& quota : quotas->table->list(ns)) {
        json::arena a;
        const json::value object = parse_record(*quotas->info, *quota, a);
        const json::value* hard = json::find_path(object, {"spec", "hard"});
        for (const char* resource : {"pods", "count/pods"}) {
            const json::value* limit = hard == nullptr ? nullptr : json::find(*hard, resource);
            if (limit == nullptr) {
                continue;
            }
            const std::string text = json::scalar_text(*limit);
            const served_kind* pods = registry_.find("", "v1", "pods");
            const std::vector<record_ptr> all = pods->table->list(ns);
            // `pods` counts pods that have not ended, `count/pods` every pod object.
            const bool running_only = std::string_view(resource) == "pods";
            const auto phase = std::find(
                pods->info->selectable.begin(), pods->info->selectable.end(), "status.phase"
            );
            const auto index = static_cast<std::size_t>(phase - pods->info->selectable.begin());
            const auto used = std::count_if(all.begin(), all.end(), [&](const record_ptr& r) {
                return !running_only ||
                       (r->fields[index] != "Succeeded" && r->fields[index] != "Failed");
            });
            if (used + 1 > std::atoll(text.c_str())) {
                return forbidden(
                    *pods->info,
                    name,
                    fmt::format(
                        "exceeded quota: {}, requested: {}=1, used: {}={}, limited: {}={}",
                        quota->name,
                        resource,
                        resource,
                        used,
                        resource,
                        text
                    )
                );
            }
        }
    }
    return {};
}

outcome<void> model::check_schema(
    const kind_info& kind,
    std::string_view name,
    const json::value* before,
    json::value& object,
    json::arena& a,
    const write_options& options
) const {
    problems list;
    if (kind.schema != nullptr) {
        std::vector<std::string> unknown;
        kind.schema->prune(object, "", unknown);
        std::sort(unknown.begin(), unknown.end());
        if (const auto ok = tell_unknown(kind, object, unknown, options); !ok) {
            return ok.error();
        }
        kind.schema->apply_defaults(object, a);
        kind.schema->validate(object, "", list);
    }
    if (kind.validate != nullptr) {
        kind.validate(object, list);
    }
    validate_metadata(kind, *json::find(object, "metadata"), list);
    if (kind.scale != nullptr && kind.has(trait::custom)) {
        validate_scale(*kind.scale, object, list);
    }
    if (kind.schema != nullptr && kind.schema->has_rules()) {
        if (!list.forbids_rules()) {
            std::int64_t budget = cel::object_budget;
            kind.schema->check_rules(object, before, "", list, budget);
        } else {
            list.add(
                "FieldValueInvalid",
                "<nil>",
                "Invalid value: null: some validation rules were not checked because the object "
                "was "
                "invalid; correct the existing errors to complete validation"
            );
        }
    }
    if (!list.empty()) {
        return invalid(kind, name, list);
    }
    return {};
}

bool model::is_too_large(const json::value& object, const json::arena& a) {
    constexpr std::size_t most = 1536 * 1024;  // bytes; etcd's bound of a request
    // A byte of JSON takes at least half of one in the arena; mostly there is nothing to measure.
    return a.Size() > most / 2 && json::to_text(object).size() > most;
}

void model::allocate_cluster_ip(json::value& service, json::arena& a) {
    json::value& spec = json::object_at(service, "spec", a);
    if (json::string_at(spec, {"type"}) == "ExternalName" ||
        !json::string_at(spec, {"clusterIP"}).empty()) {
        return;
    }
    const std::uint32_t n = ++next_ip_;
    const std::string ip = fmt::format("10.96.{}.{}", (n / 254) % 256, n % 254 + 1);
    json::set(spec, "clusterIP", ip, a);
    json::value ips = json::array();
    ips.PushBack(json::make_string(ip, a), a);
    json::set(spec, "clusterIPs", std::move(ips), a);
}

void model::prepare_create(const kind_info& kind, json::value& object, json::arena& a) {
    json::value& metadata = json::object_at(object, "metadata", a);
    for (const char* key :
         {"deletionTimestamp", "deletionGracePeriodSeconds", "generation", "resourceVersion"}) {
        json::remove(metadata, key);
    }
    json::set(metadata, "uid", uids_.next_uid(), a);
    json::set(metadata, "creationTimestamp", protocol::format_api_time(time_->wall_now()), a);
    if (kind.has(trait::generation)) {
        json::set(metadata, "generation", json::value(1), a);
    }
    if (kind.has(trait::status) && !kind.has(trait::keeps_status)) {
        json::remove(object, "status");
    }
    if (kind.plural == "services" && kind.group.empty()) {
        allocate_cluster_ip(object, a);
    }
    if (kind.defaults != nullptr) {
        kind.defaults(object, a);
    }
}

outcome<record_ptr> model::create(
    const served_kind& k,
    std::string_view ns,
    json::value& object,
    json::arena& a,
    const write_options& options
) {
    const kind_info& kind = *k.info;
    if (const auto ok = take_body(kind, object, a, options); !ok) {
        return ok.error();
    }
    json::value& metadata = json::object_at(object, "metadata", a);
    if (!json::string_at(metadata, {"resourceVersion"}).empty()) {
        refusal r = bad_request("resourceVersion should not be set on objects to be created");
        r.code = 500;
        r.reason.clear();
        return r;
    }
    const std::string_view own_ns = json::string_at(metadata, {"namespace"});
    if (kind.namespaced()) {
        if (!own_ns.empty() && own_ns != ns) {
            return bad_request(
                "the namespace of the provided object does not match the namespace sent on the "
                "request"
            );
        }
        json::set(metadata, "namespace", ns, a);
    } else {
        json::remove(metadata, "namespace");
    }
    const std::string prefix(json::string_at(metadata, {"generateName"}));
    if (json::string_at(metadata, {"name"}).empty() && !prefix.empty()) {
        // A collision gets another suffix at once (KEP-4420, REQUIREMENTS.md X2).
        std::string name;
        do {
            name = prefix.substr(0, 58) + uids_.next_suffix();
        } while (k.table->find(kind.namespaced() ? ns : "", name) != nullptr);
        json::set(metadata, "name", name, a);
    }
    const std::string name(json::string_at(metadata, {"name"}));
    if (const auto ok = check_namespace(kind, ns, name); !ok) {
        return ok.error();
    }
    prepare_create(kind, object, a);
    if (const auto ok = check_schema(kind, name, nullptr, object, a, options); !ok) {
        return ok.error();
    }
    if (k.table->find(kind.namespaced() ? ns : "", name) != nullptr) {
        return already_exists(kind, name);
    }
    if (kind.has(trait::graceful)) {
        if (const auto ok = check_quota(ns, name); !ok) {
            return ok.error();
        }
    }
    if (is_too_large(object, a)) {
        return too_large_object();
    }
    record_ptr r = make_record(
        *k.table->kind, object, options.dry_run ? store_.version() : store_.next_version(), a
    );
    if (!options.dry_run) {
        store_.put(*k.table, r);
    }
    return r;
}

}  // namespace signalbox::k8sio::server
