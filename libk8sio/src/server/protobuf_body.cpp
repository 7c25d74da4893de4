// SPDX-License-Identifier: Apache-2.0
//
// Field numbers are those of k8s.io/api/*/generated.proto, which never change. A kind is a table;
// adding one is adding its rows.
#include "server/protobuf_body.hpp"

#include "protocol/base64.hpp"
#include "server/meta.hpp"

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
    object,
    time,
    int_or_string,
    text_map,
    bytes_map,
    quantity_map,
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
    field{5, "uid", wire::text},
    field{6, "resourceVersion", wire::text},
    field{8, "creationTimestamp", wire::time},
    field{11, "labels", wire::text_map},
    field{12, "annotations", wire::text_map},
    field{13, "ownerReferences", wire::object, &owner, true},
    field{14, "finalizers", wire::text, nullptr, true}};
constexpr message metadata{metadata_fields};
constexpr field metadata_field{1, "metadata", wire::object, &metadata};

constexpr std::array namespace_fields{metadata_field};
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
    field{13, "publishNotReadyAddresses", wire::boolean}};
constexpr message service_spec{service_spec_fields};
constexpr std::array service_fields{metadata_field, field{2, "spec", wire::object, &service_spec}};

constexpr std::array quota_spec_fields{field{1, "hard", wire::quantity_map}};
constexpr message quota_spec{quota_spec_fields};
constexpr std::array quota_fields{metadata_field, field{2, "spec", wire::object, &quota_spec}};

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
    known_kind{"ServiceAccount", {namespace_fields}},
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

bool decode(std::string_view data, const message& m, value& into, arena& a);

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
            text = type == wire::bytes_map ? protocol::base64_encode(part->bytes)
                                           : std::string(part->bytes);
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
bool decode_field(const raw_field& f, const field& as, value& out, arena& a) {
    switch (as.type) {
        case wire::text:
            if (!f.bytes.empty() || as.repeated) {
                out = json::make_string(f.bytes, a);
            }
            return true;
        case wire::bytes:
            out = json::make_string(protocol::base64_encode(f.bytes), a);
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
        case wire::object:
            out.SetObject();
            return decode(f.bytes, *as.of, out, a);
        case wire::time: {
            const auto seconds = reader(f.bytes).next();
            if (seconds && seconds->varint != 0 && static_cast<std::int64_t>(seconds->varint) > 0) {
                const std::chrono::seconds s{static_cast<std::int64_t>(seconds->varint)};
                out = json::make_string(rfc3339(wall_time(s)), a);
            }
            return true;
        }
        case wire::int_or_string:
            out = int_or_string(f, a);
            return true;
        case wire::text_map:
        case wire::bytes_map:
        case wire::quantity_map:
            break;  // handled by decode
    }
    return true;
}

bool decode(std::string_view data, const message& m, value& into, arena& a) {
    reader r(data);
    while (!r.done()) {
        const auto f = r.next();
        if (!f) {
            return false;
        }
        for (const field& as : m.fields) {
            if (as.number != f->number) {
                continue;
            }
            if (as.type == wire::text_map || as.type == wire::bytes_map ||
                as.type == wire::quantity_map) {
                if (!decode_map_entry(*f, as.type, json::object_at(into, as.name, a), a)) {
                    return false;
                }
                continue;
            }
            value v;
            if (!decode_field(*f, as, v, a)) {
                return false;
            }
            if (v.IsNull()) {
                continue;
            }
            if (!as.repeated) {
                json::set(into, as.name, std::move(v), a);
                continue;
            }
            if (json::find(into, as.name) == nullptr) {
                json::set(into, as.name, json::array(), a);
            }
            json::find(into, as.name)->PushBack(v, a);
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
        if (!f || (f->number == 1 && !decode(f->bytes, type_meta, into, a))) {
            return protobuf_result::malformed;
        }
        if (f->number == 2) {
            raw = f->bytes;
        }
    }
    kind = json::string_at(into, {"kind"});
    for (const known_kind& k : known_kinds) {
        if (k.kind == kind) {
            return decode(raw, k.layout, into, a) ? protobuf_result::ok
                                                  : protobuf_result::malformed;
        }
    }
    return protobuf_result::unknown_kind;
}

}  // namespace signalbox::k8sio::server
