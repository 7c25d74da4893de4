// SPDX-License-Identifier: Apache-2.0
//
// create, update, patch, apply, delete, as the client expects them (REQUIREMENTS.md X1-X9).
#include "server/formats/protobuf_body.hpp"
#include "server/kinds/refusals.hpp"
#include "server/values/problems.hpp"
#include "server/values/repeated.hpp"
#include "server/values/text.hpp"
#include "server/verbs/front.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace signalbox::k8sio::server {
namespace {

using json::value;

constexpr std::string_view json_type = "application/json";
constexpr std::string_view patch_types =
    "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";

propagation policy_named(std::string_view text) {
    return text == "Foreground"   ? propagation::foreground
           : text == "Orphan"     ? propagation::orphan
           : text == "Background" ? propagation::background
                                  : propagation::unset;
}

/// What the decoder of a JSON patch does not know of an operation.
void find_unknown_members(const value& patch, std::vector<std::string>& faults) {
    static constexpr std::array<std::string_view, 4> known{"op", "path", "from", "value"};
    for (rapidjson::SizeType i = 0; patch.IsArray() && i < patch.Size(); ++i) {
        if (!patch[i].IsObject()) {
            continue;
        }
        for (const auto& m : patch[i].GetObject()) {
            const std::string_view name = json::view(m.name);
            if (std::find(known.begin(), known.end(), name) == known.end()) {
                const std::string path = fmt::format("[{}].{}", i, name);
                faults.push_back("json patch unknown field " + quoted(path));
            }
        }
    }
}

}  // namespace

std::vector<std::string> repeated_fields(value& body, std::string_view of) {
    std::vector<std::string> out = json::drop_repeated(body);
    for (std::string& path : out) {
        path = fmt::format("{}duplicate field {}", of, quoted(path));
    }
    return out;
}

kind_info options_kind(std::string name) {
    kind_info k;
    k.group = "meta.k8s.io";
    k.kind = std::move(name);
    return k;
}

void to_kept_form(const target_object& t, value& object, json::arena& a) {
    if (t.kind->info->form != nullptr) {
        t.kind->info->form->to_kept(object, a);
    }
}

outcome<void> read_body(
    const api_request& request, value& into, json::arena& a, std::vector<std::string>* faults
) {
    if (request.content_type == protobuf_type) {
        std::string kind;
        switch (decode_protobuf(request.body, into, kind, a)) {
            case protobuf_result::ok:
                return {};
            case protobuf_result::malformed:
                return bad_request("the body of the request is no valid protobuf envelope");
            case protobuf_result::not_read:
                return unsupported_media_type(
                    fmt::format("{} (protobuf is not read for {})", json_type, kind)
                );
        }
    }
    if (!request.content_type.empty() && request.content_type != json_type) {
        return unsupported_media_type(json_type);
    }
    if (const auto error = json::parse(into, request.body, a)) {
        return bad_request("the body of the request is no valid JSON: " + *error);
    }
    if (!into.IsObject()) {
        return bad_request("the body of the request must be a JSON object");
    }
    std::vector<std::string> repeated = repeated_fields(into, "");
    if (faults != nullptr) {
        *faults = std::move(repeated);
    }
    return {};
}

api_answer front::review(const api_request& request, const target_object& t) {
    json::arena a;
    value object;
    if (const auto ok = read_body(request, object, a); !ok) {
        return ok.error();
    }
    const kind_info& kind = *t.kind->info;
    if (const auto ok = world_->check_body(kind, object); !ok) {
        return ok.error();
    }
    json::set(object, "apiVersion", kind.api_version(), a);
    json::set(object, "kind", kind.kind, a);
    if (kind.plural == "tokenreviews") {
        review_token(object, a);  // it needs what this server has issued
        return {201, json::to_text(object)};
    }
    if (const auto ok = kind.answer(object, a); !ok) {
        return ok.error();
    }
    return {201, json::to_text(object)};
}

api_answer front::create(
    const api_request& request, const target_object& t, const write_options& options
) {
    json::arena a;
    value object;
    write_options with = options;
    if (const auto ok = read_body(request, object, a, &with.faults); !ok) {
        return ok.error();
    }
    to_kept_form(t, object, a);
    const outcome<record_ptr> r = world_->create(*t.keeper, t.ns, object, a, with);
    if (!r) {
        return r.error();
    }
    return answer_object(request, t, 201, **r);
}

api_answer front::update(
    const api_request& request,
    const target_object& t,
    update_part part,
    const write_options& options
) {
    json::arena a;
    value object;
    write_options with = options;
    if (const auto ok = read_body(request, object, a, &with.faults); !ok) {
        return ok.error();
    }
    const bool existed = t.kind->table->find(t.ns, t.name) != nullptr;
    to_kept_form(t, object, a);
    const outcome<record_ptr> r = world_->update(*t.keeper, t.ns, t.name, object, a, part, with);
    if (!r) {
        return r.error();
    }
    return answer_object(request, t, existed ? 200 : 201, **r);
}

api_answer front::patch(
    const api_request& request,
    const target_object& t,
    update_part part,
    const write_options& options
) {
    const std::string& type = request.content_type;
    const bool strategic = type == "application/strategic-merge-patch+json";
    const bool custom = t.kind->info->has(trait::custom);
    if (type == "application/apply-patch+yaml") {
        return apply(request, t, part, options);
    }
    if (type != "application/merge-patch+json" && type != "application/json-patch+json" &&
        !(strategic && !custom)) {
        // REQUIREMENTS.md X5
        return custom ? unsupported_media_type(patch_types) : unsupported_patch_type();
    }
    const record_ptr current = t.kind->table->find(t.ns, t.name);
    if (current == nullptr) {
        return not_found(*t.kind->info, t.name);
    }
    json::arena a;
    value document;
    if (const auto error = json::parse(document, request.body, a)) {
        return bad_request("the patch is no valid JSON: " + *error);
    }
    const bool operations = type == "application/json-patch+json";
    write_options with = options;
    with.faults = repeated_fields(document, operations ? "json patch " : "");
    value object = parse_record(*t.kind->info, *current, a);
    if (operations) {
        find_unknown_members(document, with.faults);
        if (const auto ok = json_patch(object, document, a); !ok) {
            return ok.error();
        }
    } else if (!document.IsObject()) {
        return bad_request("the patch must be a JSON object");
    } else if (strategic) {
        strategic_merge_patch(object, document, a);
    } else {
        merge_patch(object, document, a);
    }
    return store_patched(request, t, object, a, part, std::move(with));
}

api_answer front::store_patched(
    const api_request& request,
    const target_object& t,
    value& object,
    json::arena& a,
    update_part part,
    write_options options
) {
    options.by = update_by::patch;
    to_kept_form(t, object, a);
    const outcome<record_ptr> r = world_->update(*t.keeper, t.ns, t.name, object, a, part, options);
    if (!r) {
        return r.error();
    }
    return answer_object(request, t, 200, **r);
}

api_answer front::apply(
    const api_request& request,
    const target_object& t,
    update_part part,
    const write_options& options
) {
    if (request.param("fieldManager").empty()) {
        problems list;
        list.required("fieldManager", "is required for apply patch");
        return invalid(options_kind("PatchOptions"), "", list);
    }
    json::arena a;
    value wanted;
    if (const auto error = json::parse(wanted, request.body, a)) {
        return bad_request("the applied object is no valid JSON: " + *error);
    }
    if (!wanted.IsObject()) {
        return bad_request("the applied object must be a JSON object");
    }
    write_options with = options;
    with.faults = repeated_fields(wanted, "");
    const record_ptr current = t.kind->table->find(t.ns, t.name);
    if (current == nullptr) {
        if (part == update_part::status) {
            return not_found(*t.kind->info, t.name);
        }
        json::set(json::object_at(wanted, "metadata", a), "name", t.name, a);
        to_kept_form(t, wanted, a);
        const outcome<record_ptr> r = world_->create(*t.keeper, t.ns, wanted, a, with);
        if (!r) {
            return r.error();
        }
        return answer_object(request, t, 201, **r);
    }
    value object = parse_record(*t.kind->info, *current, a);
    if (t.kind->info->has(trait::custom)) {
        json::drop_nulls(wanted);
        merge_patch(object, wanted, a);
    } else {
        apply_merge(object, wanted, a);
    }
    return store_patched(request, t, object, a, part, std::move(with));
}

outcome<delete_request> front::read_delete_options(const api_request& request) const {
    delete_request d;
    json::arena a;
    value body;
    if (!request.body.empty()) {
        if (const auto ok = read_body(request, body, a); !ok) {
            return ok.error();
        }
    }
    d.grace_seconds = json::int_at(body, {"gracePeriodSeconds"});
    if (!d.grace_seconds) {
        d.grace_seconds = request.number("gracePeriodSeconds");
    }
    d.uid = json::string_at(body, {"preconditions", "uid"});
    d.resource_version = json::string_at(body, {"preconditions", "resourceVersion"});
    std::string policy(json::string_at(body, {"propagationPolicy"}));
    if (policy.empty()) {
        policy = request.param("propagationPolicy");
    }
    d.policy = policy_named(policy);
    if (!policy.empty() && d.policy == propagation::unset) {
        return bad_request("invalid propagationPolicy: " + quoted(policy));
    }
    if (json::bool_at(body, {"orphanDependents"}) || request.flag("orphanDependents")) {
        d.policy = propagation::orphan;
    }
    const value* dry_run = json::find(body, "dryRun");
    d.dry_run = request.param("dryRun") == "All" ||
                (dry_run != nullptr && dry_run->IsArray() && !dry_run->Empty());
    return d;
}

api_answer front::remove(const api_request& request, const target_object& t) {
    const outcome<delete_request> d = read_delete_options(request);
    if (!d) {
        return d.error();
    }
    const outcome<delete_outcome> done = world_->remove(*t.kind, t.ns, t.name, *d);
    if (!done) {
        return done.error();
    }
    const kind_info& kind = *t.kind->info;
    if (done->gone && !kind.has(trait::returns_deleted)) {
        return {200, success_text(kind, t.name, done->object->uid)};
    }
    return answer_object(request, t, 200, *done->object);
}

api_answer front::remove_collection(const api_request& request, const target_object& t) {
    const outcome<delete_request> d = read_delete_options(request);
    if (!d) {
        return d.error();
    }
    outcome<std::vector<record_ptr>> chosen = select(request, t);
    if (!chosen) {
        return chosen.error();
    }
    for (const record_ptr& r : *chosen) {
        (void)world_->remove(*t.kind, r->ns, r->name, *d);
    }
    const list_facts facts{std::to_string(world_->objects().version()), "", {}};
    return {200, render_list(*t.kind->info, *chosen, facts, wanted_view(request), now())};
}

}  // namespace signalbox::k8sio::server
