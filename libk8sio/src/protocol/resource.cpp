// SPDX-License-Identifier: Apache-2.0
//
// Paths of resource types, and the order of resource versions.
#include "k8sio/resource.hpp"

#include <algorithm>
#include <charconv>

namespace signalbox::k8sio {

resource_type::resource_type(
    std::string group, std::string version, std::string plural, std::string kind, bool namespaced
)
    : group_(std::move(group)),
      version_(std::move(version)),
      plural_(std::move(plural)),
      kind_(std::move(kind)),
      namespaced_(namespaced) {}

std::string resource_type::api_version() const {
    return group_.empty() ? version_ : group_ + "/" + version_;
}

std::string resource_type::collection_path(std::string_view ns) const {
    std::string path = group_.empty() ? "/api/" : "/apis/" + percent_encode(group_) + "/";
    path += percent_encode(version_);
    if (namespaced_ && !ns.empty()) {
        path += "/namespaces/" + percent_encode(ns);
    }
    return path + "/" + percent_encode(plural_);
}

std::string resource_type::object_path(
    std::string_view ns, std::string_view name, std::string_view subresource
) const {
    std::string path = collection_path(ns) + "/" + percent_encode(name);
    if (!subresource.empty()) {
        path += "/" + percent_encode(subresource);
    }
    return path;
}

namespace resources {

const resource_type& pods() {
    static const resource_type type("", "v1", "pods", "Pod");
    return type;
}

const resource_type& services() {
    static const resource_type type("", "v1", "services", "Service");
    return type;
}

const resource_type& secrets() {
    static const resource_type type("", "v1", "secrets", "Secret");
    return type;
}

const resource_type& config_maps() {
    static const resource_type type("", "v1", "configmaps", "ConfigMap");
    return type;
}

const resource_type& events() {
    static const resource_type type("", "v1", "events", "Event");
    return type;
}

const resource_type& namespaces() {
    static const resource_type type("", "v1", "namespaces", "Namespace", false);
    return type;
}

const resource_type& nodes() {
    static const resource_type type("", "v1", "nodes", "Node", false);
    return type;
}

const resource_type& custom_resource_definitions() {
    static const resource_type type(
        "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false
    );
    return type;
}

}  // namespace resources

namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool is_unreserved(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

/// V4: decimal digits without a leading zero.
bool is_version(std::string_view text) {
    return !text.empty() && (text.size() == 1 || text.front() != '0') &&
           std::all_of(text.begin(), text.end(), is_digit);
}

}  // namespace

std::string percent_encode(std::string_view text, std::string_view kept) {
    constexpr char digits[] = "0123456789ABCDEF";
    std::string out;
    out.reserve(text.size());
    for (const char c : text) {
        if (is_unreserved(c) || kept.find(c) != std::string_view::npos) {
            out += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        out += '%';
        out += digits[byte >> 4];
        out += digits[byte & 15];
    }
    return out;
}

std::string percent_decode(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned char byte = 0;
        const std::string_view digits = text.substr(i + 1, 2);
        const char* const end = digits.data() + digits.size();
        const bool escape = text[i] == '%' && digits.size() == 2 &&
                            std::from_chars(digits.data(), end, byte, 16).ptr == end;
        out += escape ? static_cast<char>(byte) : text[i];
        i += escape ? 2 : 0;
    }
    return out;
}

version_order compare_versions(std::string_view a, std::string_view b) {
    if (a == b) {
        return version_order::same;
    }
    if (!is_version(a) || !is_version(b)) {
        return version_order::incomparable;
    }
    // Up to 128 bits, so no integer type (REQUIREMENTS.md V4).
    const bool less = a.size() != b.size() ? a.size() < b.size() : a < b;
    return less ? version_order::older : version_order::newer;
}

}  // namespace signalbox::k8sio
