// SPDX-License-Identifier: Apache-2.0
#include "server/built_in/typed_objects.hpp"

#include "kubernetes/validator.hpp"

#include <fmt/format.h>

#include <utility>

namespace signalbox::k8sio::server {
namespace {

using kubernetes::field_row;
using kubernetes::presence;

constexpr std::array kind_field_rows = std::to_array<field_row>({
#include "server/built_in/kind_fields.inc"
});

const kubernetes::schema& types() {
    static const kubernetes::schema known{kind_field_rows};
    return known;
}

bool has_fields(std::string_view holds) {
    return !kubernetes::is_scalar(holds) && !holds.starts_with(kubernetes::map_of);
}

/// Null in a list or map is the zero value of what it holds; as a member it is absent.
void fill_null(json::value& v, std::string_view holds) {
    if (!v.IsNull()) {
        return;
    }
    if (holds == "string") {
        v.SetString("", 0);
    } else if (holds == "Quantity") {
        v.SetString("0", 1);
    } else if (has_fields(holds)) {
        v.SetObject();
    }
}

/// Brings a decoded value into the form in which it is stored: without unknown fields.
void normalize(json::value& v, std::string_view holds) {
    if (holds.starts_with(kubernetes::list_of)) {
        const std::string_view inner = holds.substr(kubernetes::list_of.size());
        for (rapidjson::SizeType i = 0; v.IsArray() && i < v.Size(); ++i) {
            fill_null(v[i], inner);
            normalize(v[i], inner);
        }
    } else if (holds.starts_with(kubernetes::map_of)) {
        const std::string_view inner = holds.substr(kubernetes::map_of.size());
        for (auto it = v.MemberBegin(); v.IsObject() && it != v.MemberEnd(); ++it) {
            fill_null(it->value, inner);
            normalize(it->value, inner);
        }
    } else if (has_fields(holds) && v.IsObject()) {
        const kubernetes::field_table fields = types().fields(holds);
        json::erase_members(v, [&](json::value::Member& m) {
            const field_row* row = kubernetes::schema::field(fields, json::view(m.name));
            if (row == nullptr || m.value.IsNull()) {
                return true;
            }
            normalize(m.value, row->holds);
            return false;
        });
    }
}

/// Decoders of single values fail at once; of other mistakes the first one is told in the end.
const kubernetes::problem* first_told(const kubernetes::problem_list& found) {
    const kubernetes::problem* first = nullptr;
    for (const kubernetes::problem& p : found.entries()) {
        if (p.what == kubernetes::fault::type) {
            if (!p.detail.starts_with("json: ")) {
                return &p;
            }
            first = first == nullptr ? &p : first;
        }
    }
    return first;
}

std::string_view reason_of(kubernetes::fault what) {
    switch (what) {
        case kubernetes::fault::required:
            return "FieldValueRequired";
        case kubernetes::fault::unsupported:
            return "FieldValueNotSupported";
        case kubernetes::fault::duplicate:
            return "FieldValueDuplicate";
        case kubernetes::fault::forbidden:
            return "FieldValueForbidden";
        case kubernetes::fault::not_found:
            return "FieldValueNotFound";
        default:
            return "FieldValueInvalid";
    }
}

std::string body_of(const kubernetes::problem& p) {
    std::string text;
    switch (p.what) {
        case kubernetes::fault::required:
            text = "Required value";
            break;
        case kubernetes::fault::forbidden:
            text = "Forbidden";
            break;
        case kubernetes::fault::unsupported:
            text = "Unsupported value: " + p.bad;
            break;
        case kubernetes::fault::duplicate:
            text = "Duplicate value: " + p.bad;
            break;
        case kubernetes::fault::not_found:
            text = "Not found: " + p.bad;
            break;
        default:
            text = "Invalid value: " + p.bad;
    }
    return p.detail.empty() ? text : text + ": " + p.detail;
}

void report(const kubernetes::problem_list& found, problems& list) {
    for (const kubernetes::problem& p : found.entries()) {
        list.add(std::string(reason_of(p.what)), p.field, body_of(p));
    }
}

}  // namespace

std::string type_name(const kind_info& kind) {
    return kind.group == "events.k8s.io" ? "events." + kind.kind : kind.kind;
}

std::vector<typed_field> fields_of(std::string_view type) {
    std::vector<typed_field> out;
    for (const field_row& row : types().fields(type)) {
        out.push_back({row.name, row.holds, row.is == presence::required, row.values});
    }
    return out;
}

bool is_known_type(std::string_view type) {
    return !types().fields(type).empty();
}

decoded decode_typed(const kind_info& kind, json::value& object) {
    const std::string type = type_name(kind);
    kubernetes::problem_list found;
    kubernetes::decoder(types(), kubernetes::integers::strict, found)
        .object(object, type, kubernetes::place("", ""));
    decoded out;
    if (const kubernetes::problem* told = first_told(found)) {
        out.error = told->detail;
        return out;
    }
    for (const kubernetes::problem& p : found.entries()) {
        out.unknown.push_back(p.field);
    }
    normalize(object, type);
    return out;
}

namespace rules {

void validate_pod_spec(const json::value& spec, std::string_view field, problems& list) {
    kubernetes::problem_list found;
    kubernetes::validator(types(), found).pod_spec(spec, kubernetes::place(field, ""));
    report(found, list);
}

void validate_pod_template(
    const json::value& pod_template, std::string_view field, problems& list
) {
    kubernetes::problem_list found;
    kubernetes::validator(types(), found).pod_template(pod_template, kubernetes::place(field, ""));
    report(found, list);
}

void validate_part(
    const json::value& part, std::string_view type, std::string_view field, problems& list
) {
    kubernetes::problem_list found;
    kubernetes::validator(types(), found).container_field(part, type, kubernetes::place(field, ""));
    report(found, list);
}

}  // namespace rules
}  // namespace signalbox::k8sio::server
