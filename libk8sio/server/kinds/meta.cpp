// SPDX-License-Identifier: Apache-2.0
#include "server/kinds/meta.hpp"

#include "kubernetes/forms.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

namespace signalbox::k8sio::server {

const std::string_view dns_1035_label_text =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

std::uint64_t uid_sequence::next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

std::string uid_sequence::next_uid() {
    const std::uint64_t a = next();
    const std::uint64_t b = next();
    return fmt::format(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        a >> 32,
        (a >> 16) & 0xffff,
        a & 0xfff,
        0x8000 | ((b >> 48) & 0x3fff),
        b & 0xffffffffffffULL
    );
}

std::string uid_sequence::next_suffix() {
    constexpr std::string_view alphabet = "bcdfghjklmnpqrstvwxz2456789";
    std::uint64_t bits = next();
    std::string out;
    for (int i = 0; i < 5; ++i) {
        out += alphabet[bits % alphabet.size()];
        bits /= alphabet.size();
    }
    return out;
}

bool is_dns_1035_label(std::string_view name) {
    return kubernetes::dns_label(name).empty() && !kubernetes::is_digit(name.front());
}

bool is_label_value(std::string_view text) {
    return kubernetes::label_value(text).empty();
}

bool is_qualified_name(std::string_view name) {
    return kubernetes::qualified_name(name).empty();
}

void tidy_metadata(json::value& metadata, json::arena& a) {
    (void)a;
    json::remove(metadata, "managedFields");
    json::remove(metadata, "selfLink");
    json::drop_nulls(metadata);
    for (const char* key : {"labels", "annotations"}) {
        const json::value* m = json::find(metadata, key);
        if (m != nullptr && m->IsObject() && m->ObjectEmpty()) {
            json::remove(metadata, key);
        }
    }
    for (const char* key : {"finalizers", "ownerReferences"}) {
        const json::value* m = json::find(metadata, key);
        if (m != nullptr && m->IsArray() && m->Empty()) {
            json::remove(metadata, key);
        }
    }
    for (const char* key : {"resourceVersion", "uid", "generateName"}) {
        if (json::string_at(metadata, {key}).empty()) {
            json::remove(metadata, key);
        }
    }
}

void validate_labels(const json::value& labels, const std::string& field, problems& list) {
    if (!labels.IsObject()) {
        return;
    }
    for (const auto& m : labels.GetObject()) {
        complain(kubernetes::qualified_name(json::view(m.name)), field, json::view(m.name), list);
        if (!m.value.IsString()) {
            list.wrong_type(field + "." + json::text_of(m.name), m.value, "string");
        } else {
            complain(
                kubernetes::label_value(json::view(m.value)), field, json::view(m.value), list
            );
        }
    }
}

namespace {

void validate_name(const kind_info& kind, const json::value& metadata, problems& list) {
    const std::string_view name = json::string_at(metadata, {"name"});
    const auto check = [&](bool ok, std::string_view text) {
        if (!ok) {
            list.invalid("metadata.name", name, text);
        }
    };
    switch (kind.names) {
        case name_rule::dns_subdomain:
            complain(kubernetes::dns_subdomain(name), "metadata.name", name, list);
            break;
        case name_rule::dns_label:
            complain(kubernetes::dns_label(name), "metadata.name", name, list);
            break;
        case name_rule::dns_1035_label:
            check(name.size() <= 63, "must be no more than 63 characters");
            check(name.size() > 63 || is_dns_1035_label(name), dns_1035_label_text);
            break;
        case name_rule::path_segment:
            check(
                name != "." && name != ".." && name.find_first_of("/%") == std::string_view::npos,
                "may not be '.' or '..' or contain '/' or '%'"
            );
            break;
    }
}

}  // namespace

void validate_metadata(const kind_info& kind, const json::value& metadata, problems& list) {
    const std::string_view name = json::string_at(metadata, {"name"});
    if (name.empty()) {
        list.required("metadata.name", "name or generateName is required");
    } else {
        validate_name(kind, metadata, list);
    }
    if (const json::value* labels = json::find(metadata, "labels")) {
        validate_labels(*labels, "metadata.labels", list);
    }
    std::size_t annotation_bytes = 0;
    if (const json::value* m = json::find(metadata, "annotations"); m && m->IsObject()) {
        for (const auto& entry : m->GetObject()) {
            const std::string_view key = json::view(entry.name);
            complain(kubernetes::annotation_key(key), "metadata.annotations", key, list);
            annotation_bytes += entry.name.GetStringLength();
            annotation_bytes += entry.value.IsString() ? entry.value.GetStringLength() : 0;
        }
    }
    if (annotation_bytes > 256 * 1024) {  // REQUIREMENTS.md X14
        list.too_long("metadata.annotations", 256 * 1024);
    }
    bool controller = false;
    if (const json::value* owners = json::find(metadata, "ownerReferences");
        owners && owners->IsArray()) {
        for (rapidjson::SizeType i = 0; i < owners->Size(); ++i) {
            const json::value& o = (*owners)[i];
            for (const char* key : {"apiVersion", "kind", "name", "uid"}) {
                if (json::string_at(o, {key}).empty()) {
                    list.invalid(
                        fmt::format("metadata.ownerReferences[{}].{}", i, key),
                        "",
                        fmt::format("{} must not be empty", key)
                    );
                }
            }
            if (json::bool_at(o, {"controller"})) {
                if (controller) {
                    list.invalid(
                        "metadata.ownerReferences",
                        *owners,
                        "Only one reference can have Controller set to true."
                    );
                }
                controller = true;
            }
        }
    }
}

namespace {

using requirements = std::multimap<std::string, std::string>;

requirements of_labels(const json::value* labels) {
    requirements out;
    if (labels != nullptr && labels->IsObject()) {
        for (const auto& m : labels->GetObject()) {
            const std::string key = json::text_of(m.name);
            out.emplace(key, key + "=" + json::scalar_text(m.value));
        }
    }
    return out;
}

std::string requirement_text(const json::value& expression) {
    const std::string key(json::string_at(expression, {"key"}));
    const std::string_view action = json::string_at(expression, {"operator"});
    std::set<std::string> values;
    if (const json::value* list = json::find(expression, "values"); list && list->IsArray()) {
        for (const json::value& v : list->GetArray()) {
            values.insert(json::scalar_text(v));
        }
    }
    return action == "Exists" ? key
           : action == "DoesNotExist"
               ? "!" + key
               : fmt::format(
                     "{} {} ({})", key, action == "In" ? "in" : "notin", fmt::join(values, ",")
                 );
}

std::string joined(const requirements& all) {
    std::string out;
    for (const auto& [key, text] : all) {
        out += (out.empty() ? "" : ",") + text;
    }
    return out;
}

}  // namespace

std::string labels_text(const json::value* labels) {
    return joined(of_labels(labels));
}

std::string selector_text(const json::value* selector) {
    if (selector == nullptr || selector->IsString()) {
        return selector == nullptr ? "" : json::text_of(*selector);
    }
    requirements all = of_labels(json::find(*selector, "matchLabels"));
    if (const json::value* list = json::find(*selector, "matchExpressions");
        list != nullptr && list->IsArray()) {
        for (const json::value& e : list->GetArray()) {
            all.emplace(json::string_at(e, {"key"}), requirement_text(e));
        }
    }
    return joined(all);
}

}  // namespace signalbox::k8sio::server
