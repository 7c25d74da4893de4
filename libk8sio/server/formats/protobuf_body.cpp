// SPDX-License-Identifier: Apache-2.0
//
// Field numbers are those of k8s.io/api/*/generated.proto, which never change. A kind is a table;
// adding one is adding its rows.
#include "server/formats/protobuf_body.hpp"

#include "k8sio/base64.hpp"
#include "protocol/http_date.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <span>
#include <utility>

namespace signalbox::k8sio::server {
namespace {

using json::arena;
using json::value;

struct message;

enum class wire {
    text,
    bytes,    ///< base64 in JSON
    integer,  ///< left out if 0: not a pointer in Go
    optional_integer,
    boolean,
    flag,  ///< left out if false: not a pointer in Go
    object,
    time,
    int_or_string,
    text_map,
    bytes_map,
    quantity_map,
    ignored,  ///< the server's own: what a client sends of it has no effect
};

struct field {
    unsigned number;
    std::string_view name;
    wire type;
    const message* of = nullptr;
    bool repeated = false;
};

struct message {
    std::span<const field> fields;
};

constexpr std::array owner_fields{
    field{1, "kind", wire::text},
    field{3, "name", wire::text},
    field{4, "uid", wire::text},
    field{5, "apiVersion", wire::text},
    field{6, "controller", wire::boolean},
    field{7, "blockOwnerDeletion", wire::boolean}};
constexpr message owner{owner_fields};

constexpr std::array metadata_fields{
    field{1, "name", wire::text},
    field{2, "generateName", wire::text},
    field{3, "namespace", wire::text},
    field{4, "selfLink", wire::ignored},
    field{5, "uid", wire::text},
    field{6, "resourceVersion", wire::text},
    field{7, "generation", wire::ignored},
    field{8, "creationTimestamp", wire::time},
    field{9, "deletionTimestamp", wire::ignored},
    field{10, "deletionGracePeriodSeconds", wire::ignored},
    field{11, "labels", wire::text_map},
    field{12, "annotations", wire::text_map},
    field{13, "ownerReferences", wire::object, &owner, true},
    field{14, "finalizers", wire::text, nullptr, true},
    field{17, "managedFields", wire::ignored}};
constexpr message metadata{metadata_fields};
constexpr field metadata_field{1, "metadata", wire::object, &metadata};

constexpr field status_field{3, "status", wire::ignored};

constexpr std::array namespace_fields{
    metadata_field, field{2, "spec", wire::ignored}, status_field};
constexpr std::array account_fields{metadata_field};
constexpr std::array config_map_fields{
    metadata_field,
    field{2, "data", wire::text_map},
    field{3, "binaryData", wire::bytes_map},
    field{4, "immutable", wire::boolean}};
constexpr std::array secret_fields{
    metadata_field,
    field{2, "data", wire::bytes_map},
    field{3, "type", wire::text},
    field{4, "stringData", wire::text_map},
    field{5, "immutable", wire::boolean}};

constexpr std::array port_fields{
    field{1, "name", wire::text},
    field{2, "protocol", wire::text},
    field{3, "port", wire::integer},
    field{4, "targetPort", wire::int_or_string},
    field{5, "nodePort", wire::integer},
    field{6, "appProtocol", wire::text}};
constexpr message port{port_fields};
constexpr std::array service_spec_fields{
    field{1, "ports", wire::object, &port, true},
    field{2, "selector", wire::text_map},
    field{3, "clusterIP", wire::text},
    field{4, "type", wire::text},
    field{7, "sessionAffinity", wire::text},
    field{10, "externalName", wire::text},
    field{13, "publishNotReadyAddresses", wire::flag}};
constexpr message service_spec{service_spec_fields};
constexpr std::array service_fields{
    metadata_field, field{2, "spec", wire::object, &service_spec}, status_field};

constexpr std::array quota_spec_fields{field{1, "hard", wire::quantity_map}};
constexpr message quota_spec{quota_spec_fields};
constexpr std::array quota_fields{
    metadata_field, field{2, "spec", wire::object, &quota_spec}, status_field};

constexpr std::array requirement_fields{
    field{1, "key", wire::text},
    field{2, "operator", wire::text},
    field{3, "values", wire::text, nullptr, true}};
constexpr message requirement{requirement_fields};
constexpr std::array selector_fields{
    field{1, "matchLabels", wire::text_map},
    field{2, "matchExpressions", wire::object, &requirement, true}};
constexpr message label_selector{selector_fields};

constexpr std::array container_port_fields{
    field{1, "name", wire::text},
    field{2, "hostPort", wire::integer},
    field{3, "containerPort", wire::integer},
    field{4, "protocol", wire::text},
    field{5, "hostIP", wire::text}};
constexpr message container_port{container_port_fields};
constexpr std::array env_fields{field{1, "name", wire::text}, field{2, "value", wire::text}};
constexpr message env{env_fields};
constexpr std::array resources_fields{
    field{1, "limits", wire::quantity_map}, field{2, "requests", wire::quantity_map}};
constexpr message resources{resources_fields};
constexpr std::array container_fields{
    field{1, "name", wire::text},
    field{2, "image", wire::text},
    field{3, "command", wire::text, nullptr, true},
    field{4, "args", wire::text, nullptr, true},
    field{5, "workingDir", wire::text},
    field{6, "ports", wire::object, &container_port, true},
    field{7, "env", wire::object, &env, true},
    field{8, "resources", wire::object, &resources},
    field{13, "terminationMessagePath", wire::text},
    field{14, "imagePullPolicy", wire::text},
    field{16, "stdin", wire::flag},
    field{17, "stdinOnce", wire::flag},
    field{18, "tty", wire::flag},
    field{20, "terminationMessagePolicy", wire::text}};
constexpr message container{container_fields};
constexpr std::array pod_spec_fields{
    field{2, "containers", wire::object, &container, true},
    field{3, "restartPolicy", wire::text},
    field{4, "terminationGracePeriodSeconds", wire::optional_integer},
    field{5, "activeDeadlineSeconds", wire::optional_integer},
    field{6, "dnsPolicy", wire::text},
    field{7, "nodeSelector", wire::text_map},
    field{8, "serviceAccountName", wire::text},
    field{9, "serviceAccount", wire::text},
    field{10, "nodeName", wire::text},
    field{11, "hostNetwork", wire::flag},
    field{12, "hostPID", wire::flag},
    field{13, "hostIPC", wire::flag},
    field{16, "hostname", wire::text},
    field{17, "subdomain", wire::text},
    field{19, "schedulerName", wire::text},
    field{20, "initContainers", wire::object, &container, true},
    field{24, "priorityClassName", wire::text}};
constexpr message pod_spec{pod_spec_fields};
constexpr std::array template_fields{metadata_field, field{2, "spec", wire::object, &pod_spec}};
constexpr message pod_template{template_fields};

constexpr std::array rolling_update_fields{
    field{1, "maxUnavailable", wire::int_or_string}, field{2, "maxSurge", wire::int_or_string}};
constexpr message rolling_update{rolling_update_fields};
constexpr std::array strategy_fields{
    field{1, "type", wire::text}, field{2, "rollingUpdate", wire::object, &rolling_update}};
constexpr message strategy{strategy_fields};
constexpr std::array deployment_spec_fields{
    field{1, "replicas", wire::optional_integer},
    field{2, "selector", wire::object, &label_selector},
    field{3, "template", wire::object, &pod_template},
    field{4, "strategy", wire::object, &strategy},
    field{5, "minReadySeconds", wire::integer},
    field{6, "revisionHistoryLimit", wire::optional_integer},
    field{7, "paused", wire::flag},
    field{9, "progressDeadlineSeconds", wire::optional_integer}};
constexpr message deployment_spec{deployment_spec_fields};
constexpr std::array deployment_fields{
    metadata_field, field{2, "spec", wire::object, &deployment_spec}, status_field};

constexpr std::array budget_spec_fields{
    field{1, "minAvailable", wire::int_or_string},
    field{2, "selector", wire::object, &label_selector},
    field{3, "maxUnavailable", wire::int_or_string},
    field{4, "unhealthyPodEvictionPolicy", wire::text}};
constexpr message budget_spec{budget_spec_fields};
constexpr std::array budget_fields{
    metadata_field, field{2, "spec", wire::object, &budget_spec}, status_field};
constexpr std::array priority_fields{
    metadata_field,
    field{2, "value", wire::optional_integer},
    field{3, "globalDefault", wire::flag},
    field{4, "description", wire::text},
    field{5, "preemptionPolicy", wire::text}};

constexpr std::array resource_attributes_fields{
    field{1, "namespace", wire::text},
    field{2, "verb", wire::text},
    field{3, "group", wire::text},
    field{4, "version", wire::text},
    field{5, "resource", wire::text},
    field{6, "subresource", wire::text},
    field{7, "name", wire::text}};
constexpr message resource_attributes{resource_attributes_fields};
constexpr std::array path_attributes_fields{
    field{1, "path", wire::text}, field{2, "verb", wire::text}};
constexpr message path_attributes{path_attributes_fields};
constexpr std::array access_spec_fields{
    field{1, "resourceAttributes", wire::object, &resource_attributes},
    field{2, "nonResourceAttributes", wire::object, &path_attributes},
    field{3, "user", wire::text},
    field{4, "groups", wire::text, nullptr, true},
    field{6, "uid", wire::text}};
constexpr message access_spec{access_spec_fields};
constexpr std::array access_fields{
    metadata_field, field{2, "spec", wire::object, &access_spec}, status_field};
constexpr std::array rules_spec_fields{field{1, "namespace", wire::text}};
constexpr message rules_spec{rules_spec_fields};
constexpr std::array rules_fields{
    metadata_field, field{2, "spec", wire::object, &rules_spec}, status_field};
constexpr std::array who_fields{metadata_field, field{2, "status", wire::ignored}};
constexpr std::array token_review_spec_fields{
    field{1, "token", wire::text}, field{2, "audiences", wire::text, nullptr, true}};
constexpr message token_review_spec{token_review_spec_fields};
constexpr std::array token_review_fields{
    metadata_field, field{2, "spec", wire::object, &token_review_spec}, status_field};
constexpr std::array bound_object_fields{
    field{1, "kind", wire::text},
    field{2, "apiVersion", wire::text},
    field{3, "name", wire::text},
    field{4, "uid", wire::text}};
constexpr message bound_object{bound_object_fields};
constexpr std::array token_request_spec_fields{
    field{1, "audiences", wire::text, nullptr, true},
    field{3, "boundObjectRef", wire::object, &bound_object},
    field{4, "expirationSeconds", wire::optional_integer}};
constexpr message token_request_spec{token_request_spec_fields};
constexpr std::array token_request_fields{
    metadata_field, field{2, "spec", wire::object, &token_request_spec}, status_field};

constexpr std::array rule_fields{
    field{1, "verbs", wire::text, nullptr, true},
    field{2, "apiGroups", wire::text, nullptr, true},
    field{3, "resources", wire::text, nullptr, true},
    field{4, "resourceNames", wire::text, nullptr, true},
    field{5, "nonResourceURLs", wire::text, nullptr, true}};
constexpr message rule{rule_fields};
constexpr std::array role_fields{metadata_field, field{2, "rules", wire::object, &rule, true}};
constexpr std::array subject_fields{
    field{1, "kind", wire::text},
    field{2, "apiGroup", wire::text},
    field{3, "name", wire::text},
    field{4, "namespace", wire::text}};
constexpr message subject{subject_fields};
constexpr std::array role_ref_fields{
    field{1, "apiGroup", wire::text}, field{2, "kind", wire::text}, field{3, "name", wire::text}};
constexpr message role_ref{role_ref_fields};
constexpr std::array binding_fields{
    metadata_field,
    field{2, "subjects", wire::object, &subject, true},
    field{3, "roleRef", wire::object, &role_ref}};

constexpr std::array preconditions_fields{
    field{1, "uid", wire::text}, field{2, "resourceVersion", wire::text}};
constexpr message preconditions{preconditions_fields};
constexpr std::array delete_options_fields{
    field{1, "gracePeriodSeconds", wire::optional_integer},
    field{2, "preconditions", wire::object, &preconditions},
    field{3, "orphanDependents", wire::boolean},
    field{4, "propagationPolicy", wire::text},
    field{5, "dryRun", wire::text, nullptr, true}};
constexpr message delete_options{delete_options_fields};
constexpr std::array eviction_fields{
    metadata_field, field{2, "deleteOptions", wire::object, &delete_options}};

struct known_kind {
    std::string_view kind;
    message layout;
};

const std::array known_kinds{
    known_kind{"Namespace", {namespace_fields}},
    known_kind{"ServiceAccount", {account_fields}},
    known_kind{"ConfigMap", {config_map_fields}},
    known_kind{"Secret", {secret_fields}},
    known_kind{"Service", {service_fields}},
    known_kind{"ResourceQuota", {quota_fields}},
    known_kind{"Role", {role_fields}},
    known_kind{"ClusterRole", {role_fields}},
    known_kind{"RoleBinding", {binding_fields}},
    known_kind{"ClusterRoleBinding", {binding_fields}},
    known_kind{"DeleteOptions", delete_options},
    known_kind{"Eviction", {eviction_fields}},
    known_kind{"Deployment", {deployment_fields}},
    known_kind{"PodDisruptionBudget", {budget_fields}},
    known_kind{"PriorityClass", {priority_fields}},
    known_kind{"LocalSubjectAccessReview", {access_fields}},
    known_kind{"SelfSubjectAccessReview", {access_fields}},
    known_kind{"SubjectAccessReview", {access_fields}},
    known_kind{"SelfSubjectRulesReview", {rules_fields}},
    known_kind{"SelfSubjectReview", {who_fields}},
    known_kind{"TokenReview", {token_review_fields}},
    known_kind{"TokenRequest", {token_request_fields}},
};

/// One field as it is on the wire.
struct raw_field {
    unsigned number = 0;
    std::uint64_t varint = 0;
    std::string_view bytes;
};

class reader {
public:
    explicit reader(std::string_view data) : data_(data) {}

    bool done() const { return data_.empty(); }

    std::optional<raw_field> next() {
        const auto tag = varint();
        if (!tag) {
            return std::nullopt;
        }
        raw_field f;
        f.number = static_cast<unsigned>(*tag >> 3);
        switch (*tag & 7U) {
            case 0: {
                const auto v = varint();
                if (!v) {
                    return std::nullopt;
                }
                f.varint = *v;
                return f;
            }
            case 1:
                return take(8, f);
            case 5:
                return take(4, f);
            case 2: {
                const auto size = varint();
                if (!size || *size > data_.size()) {
                    return std::nullopt;
                }
                return take(static_cast<std::size_t>(*size), f);
            }
            default:
                return std::nullopt;
        }
    }

private:
    std::optional<std::uint64_t> varint() {
        std::uint64_t v = 0;
        for (unsigned shift = 0; shift < 64 && !data_.empty(); shift += 7) {
            const auto byte = static_cast<unsigned char>(data_.front());
            data_.remove_prefix(1);
            v |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
            if (byte < 0x80U) {
                return v;
            }
        }
        return std::nullopt;
    }

    std::optional<raw_field> take(std::size_t size, raw_field f) {
        if (size > data_.size()) {
            return std::nullopt;
        }
        f.bytes = data_.substr(0, size);
        data_.remove_prefix(size);
        return f;
    }

    std::string_view data_;
};

/// What was sent and is not in the tables: `spec.template.spec, field 18`; empty if nothing.
struct leftover {
    std::string path, what;
};

bool decode(std::string_view data, const message& m, value& into, leftover& rest, arena& a);

bool decode_map_entry(const raw_field& f, wire type, value& map, arena& a) {
    std::string_view key;
    std::string text;
    reader entry(f.bytes);
    while (!entry.done()) {
        const auto part = entry.next();
        if (!part) {
            return false;
        }
        if (part->number == 1) {
            key = part->bytes;
        } else if (part->number == 2 && type == wire::quantity_map) {
            const auto amount = reader(part->bytes).next();
            text = amount ? std::string(amount->bytes) : std::string();
        } else if (part->number == 2) {
            text = type == wire::bytes_map ? base64_encode(part->bytes) : std::string(part->bytes);
        }
    }
    json::set(map, key, text, a);
    return true;
}

/// IntOrString {type, intVal, strVal}.
value int_or_string(const raw_field& f, arena& a) {
    bool is_text = false;
    std::int64_t number = 0;
    std::string_view text;
    reader parts(f.bytes);
    while (!parts.done()) {
        const auto part = parts.next();
        if (!part) {
            break;
        }
        if (part->number == 1) {
            is_text = part->varint != 0;
        } else if (part->number == 2) {
            number = static_cast<std::int64_t>(part->varint);
        } else if (part->number == 3) {
            text = part->bytes;
        }
    }
    return is_text ? json::make_string(text, a) : value(number);
}

/// The field's value; null if it is to be left out. False if the text is malformed.
bool decode_field(const raw_field& f, const field& as, value& out, leftover& rest, arena& a) {
    switch (as.type) {
        case wire::text:
            if (!f.bytes.empty() || as.repeated) {
                out = json::make_string(f.bytes, a);
            }
            return true;
        case wire::bytes:
            out = json::make_string(base64_encode(f.bytes), a);
            return true;
        case wire::integer:
            if (f.varint != 0) {
                out.SetInt64(static_cast<std::int64_t>(f.varint));
            }
            return true;
        case wire::optional_integer:
            out.SetInt64(static_cast<std::int64_t>(f.varint));
            return true;
        case wire::boolean:
            out.SetBool(f.varint != 0);
            return true;
        case wire::flag:
            if (f.varint != 0) {
                out.SetBool(true);
            }
            return true;
        case wire::object: {
            const std::string outer = rest.path;
            rest.path += (outer.empty() ? "" : ".") + std::string(as.name);
            out.SetObject();
            const bool whole = decode(f.bytes, *as.of, out, rest, a);
            rest.path = outer;
            return whole;
        }
        case wire::time: {
            const auto seconds = reader(f.bytes).next();
            if (seconds && seconds->varint != 0 && static_cast<std::int64_t>(seconds->varint) > 0) {
                const std::chrono::seconds sent{static_cast<std::int64_t>(seconds->varint)};
                const auto last = std::chrono::floor<std::chrono::seconds>(wall_time::max());
                const wall_time at(std::min(sent, last.time_since_epoch()));
                out = json::make_string(protocol::format_api_time(at), a);
            }
            return true;
        }
        case wire::int_or_string:
            out = int_or_string(f, a);
            return true;
        case wire::text_map:
        case wire::bytes_map:
        case wire::quantity_map:  // handled by decode_member
        case wire::ignored:
            break;
    }
    return true;
}

/// Sets or adds to the member. False if the text is malformed.
bool decode_member(const raw_field& f, const field& as, value& into, leftover& rest, arena& a) {
    if (as.type == wire::text_map || as.type == wire::bytes_map || as.type == wire::quantity_map) {
        return decode_map_entry(f, as.type, json::object_at(into, as.name, a), a);
    }
    value v;
    if (!decode_field(f, as, v, rest, a)) {
        return false;
    }
    if (v.IsNull()) {
        return true;
    }
    if (!as.repeated) {
        json::set(into, as.name, std::move(v), a);
        return true;
    }
    if (json::find(into, as.name) == nullptr) {
        json::set(into, as.name, json::array(), a);
    }
    json::find(into, as.name)->PushBack(v, a);
    return true;
}

bool decode(std::string_view data, const message& m, value& into, leftover& rest, arena& a) {
    reader r(data);
    while (!r.done()) {
        const auto f = r.next();
        if (!f) {
            return false;
        }
        const auto known = std::find_if(m.fields.begin(), m.fields.end(), [&f](const field& as) {
            return as.number == f->number;
        });
        if (known == m.fields.end()) {
            // Zeros are sent for what is not set. Anything else would be missed much later.
            if (rest.what.empty() && (f->varint != 0 || !f->bytes.empty())) {
                rest.what = fmt::format("{}, field {}", rest.path, f->number);
            }
        } else if (!decode_member(*f, *known, into, rest, a)) {
            return false;
        }
    }
    return true;
}

constexpr std::array type_meta_fields{
    field{1, "apiVersion", wire::text}, field{2, "kind", wire::text}};
constexpr message type_meta{type_meta_fields};

}  // namespace

protobuf_result decode_protobuf(std::string_view body, value& into, std::string& kind, arena& a) {
    constexpr std::string_view magic("k8s\0", 4);
    if (body.substr(0, magic.size()) != magic) {
        return protobuf_result::malformed;
    }
    into.SetObject();
    std::string_view raw;
    reader envelope(body.substr(magic.size()));
    while (!envelope.done()) {
        const auto f = envelope.next();
        leftover none;
        if (!f || (f->number == 1 && !decode(f->bytes, type_meta, into, none, a))) {
            return protobuf_result::malformed;
        }
        if (f->number == 2) {
            raw = f->bytes;
        }
    }
    kind = json::string_at(into, {"kind"});
    for (const known_kind& k : known_kinds) {
        if (k.kind == kind) {
            leftover rest;
            if (!decode(raw, k.layout, into, rest, a)) {
                return protobuf_result::malformed;
            }
            if (!rest.what.empty()) {
                kind += " " + rest.what;
                return protobuf_result::not_read;
            }
            return protobuf_result::ok;
        }
    }
    return protobuf_result::not_read;
}

}  // namespace signalbox::k8sio::server
