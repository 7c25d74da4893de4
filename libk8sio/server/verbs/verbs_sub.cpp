// SPDX-License-Identifier: Apache-2.0
//
// Subresources with a body of another kind: binding, eviction, scale, finalize.
#include "server/formats/json_path.hpp"
#include "server/kinds/meta.hpp"
#include "server/kinds/refusals.hpp"
#include "server/values/problems.hpp"
#include "server/verbs/front.hpp"

#include <fmt/format.h>

#include <utility>

namespace signalbox::k8sio::server {
namespace {

using json::value;

api_answer created() {
    return {
        201,
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Success\","
        "\"code\":201}"};
}

std::string scale_text(const kind_info& kind, const record& r) {
    json::arena a;
    const value object = parse_record(kind, r, a);
    const auto number = [&object](const std::string& path) {
        const value* v = simple_path(object, path);
        return v != nullptr && v->IsInt64() ? v->GetInt64() : 0;
    };
    const value* chosen =
        kind.scale->selector.empty() ? nullptr : simple_path(object, kind.scale->selector);
    value out = json::object();
    json::set(out, "kind", "Scale", a);
    json::set(out, "apiVersion", "autoscaling/v1", a);
    value metadata = json::object();
    for (const char* key : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
        if (const value* v = json::find_path(object, {"metadata", key})) {
            json::set(metadata, key, json::copy(*v, a), a);
        }
    }
    json::set(out, "metadata", std::move(metadata), a);
    json::set(
        json::object_at(out, "spec", a), "replicas", value(number(kind.scale->spec_replicas)), a
    );
    value& status = json::object_at(out, "status", a);
    json::set(status, "replicas", value(number(kind.scale->status_replicas)), a);
    if (const std::string text = selector_text(chosen); !text.empty()) {
        json::set(status, "selector", text, a);
    }
    return json::to_text(out);
}

}  // namespace

api_answer front::bind(const api_request& request, const target_object& t) {
    json::arena a;
    value body;
    if (const auto ok = read_body(request, body, a); !ok) {
        return ok.error();
    }
    const std::string_view node = json::string_at(body, {"target", "name"});
    if (node.empty()) {
        return bad_request("Binding.target.name: Required value");
    }
    if (const auto ok = world_->bind(*t.kind, t.ns, t.name, node); !ok) {
        return ok.error();
    }
    return created();
}

api_answer front::evict(const api_request& request, const target_object& t) {
    api_request inner = request;
    inner.body.clear();
    json::arena a;
    value body;
    if (const auto ok = read_body(request, body, a); !ok) {
        return ok.error();
    }
    if (const value* options = json::find(body, "deleteOptions")) {
        inner.body = json::to_text(*options);
    }
    const outcome<delete_request> d = read_delete_options(inner);
    if (!d) {
        return d.error();
    }
    const outcome<delete_outcome> done = world_->remove(*t.kind, t.ns, t.name, *d);
    if (!done) {
        return done.error();
    }
    return created();
}

api_answer front::scale(
    const api_request& request, const target_object& t, const write_options& options
) {
    const kind_info& kind = *t.kind->info;
    const record_ptr current = t.kind->table->find(t.ns, t.name);
    if (current == nullptr) {
        return not_found(kind, t.name);
    }
    json::arena a;
    // A built-in kind always has the field.
    const bool absent =
        kind.has(trait::custom) &&
        simple_path(parse_record(kind, *current, a), kind.scale->spec_replicas) == nullptr;
    if (request.method == "GET") {
        if (absent) {
            return internal_error(fmt::format(
                "the spec replicas field \"{}\" does not exist", kind.scale->spec_replicas
            ));
        }
        return {200, scale_text(kind, *current)};
    }
    value wanted;
    json::parse(wanted, scale_text(kind, *current), a);
    if (absent) {
        json::find(wanted, "spec")->RemoveMember("replicas");
    }
    value body;
    if (const auto error = json::parse(body, request.body, a)) {
        return bad_request("the body of the request is no valid JSON: " + *error);
    }
    (void)repeated_fields(body, "");
    if (request.method == "PUT") {
        wanted.CopyFrom(body, a);
    } else if (request.method != "PATCH") {
        return method_not_allowed();
    } else if (request.content_type == "application/json-patch+json") {
        if (const auto ok = json_patch(wanted, body, a); !ok) {
            return ok.error();
        }
    } else {
        merge_patch(wanted, body, a);
    }
    const auto replicas = json::int_at(wanted, {"spec", "replicas"});
    if (absent && !replicas && request.method == "PATCH") {
        return bad_request(
            fmt::format("the spec replicas field \"{}\" cannot be empty", kind.scale->spec_replicas)
        );
    }
    if (!replicas || *replicas < 0) {
        problems list;
        list.invalid(
            "spec.replicas", value(replicas.value_or(0)), "should be a non-negative integer"
        );
        return invalid(kind, t.name, list);
    }
    value object = parse_record(kind, *current, a);
    set_simple_path(object, kind.scale->spec_replicas, value(*replicas), a);
    // A UID in the Scale is not looked at by the real server, its version is.
    if (const std::string_view text = json::string_at(wanted, {"metadata", "resourceVersion"});
        !text.empty()) {
        json::set(*json::find(object, "metadata"), "resourceVersion", text, a);
    }
    const outcome<record_ptr> r =
        world_->update(*t.kind, t.ns, t.name, object, a, update_part::main, options);
    if (!r) {
        return r.error();
    }
    return {200, scale_text(kind, **r)};
}

api_answer front::finalize(const api_request& request, const target_object& t) {
    // The content of a namespace is removed by the collector; an early finalize changes nothing.
    return get(request, t);
}

}  // namespace signalbox::k8sio::server
