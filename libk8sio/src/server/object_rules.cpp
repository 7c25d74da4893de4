// SPDX-License-Identifier: Apache-2.0
//
// Defaults and validation of the other built-in kinds.
#include "protocol/base64.hpp"
#include "server/built_in_rules.hpp"
#include "server/meta.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace signalbox::k8sio::server::rules {

void default_service(value& service, arena& a) {
    value& spec = json::object_at(service, "spec", a);
    json::set_default(spec, "type", "ClusterIP", a);
    json::set_default(spec, "sessionAffinity", "None", a);
    if (json::string_at(spec, {"type"}) != "ExternalName") {
        json::set_default(spec, "internalTrafficPolicy", "Cluster", a);
        json::set_default(spec, "ipFamilyPolicy", "SingleStack", a);
        if (json::find(spec, "ipFamilies") == nullptr) {
            value families = json::array();
            families.PushBack("IPv4", a);
            json::set(spec, "ipFamilies", std::move(families), a);
        }
        const std::string ip(json::string_at(spec, {"clusterIP"}));
        if (!ip.empty() && json::find(spec, "clusterIPs") == nullptr) {
            value ips = json::array();
            ips.PushBack(json::make_string(ip, a), a);
            json::set(spec, "clusterIPs", std::move(ips), a);
        }
    }
    if (value* ports = json::find(spec, "ports"); ports != nullptr && ports->IsArray()) {
        for (value& port : ports->GetArray()) {
            if (!port.IsObject()) {
                continue;
            }
            json::set_default(port, "protocol", "TCP", a);
            if (json::find(port, "targetPort") == nullptr) {
                if (const auto number = json::int_at(port, {"port"})) {
                    json::set(port, "targetPort", value(*number), a);
                }
            }
        }
    }
    json::object_at(json::object_at(service, "status", a), "loadBalancer", a);
}

void validate_service(const value& service, problems& list) {
    const value* spec = json::find(service, "spec");
    if (spec == nullptr) {
        return;
    }
    const value* ports = json::find(*spec, "ports");
    const bool headless = json::string_at(*spec, {"clusterIP"}) == "None";
    const bool external = json::string_at(*spec, {"type"}) == "ExternalName";
    if ((ports == nullptr || !ports->IsArray() || ports->Empty()) && !headless && !external) {
        list.required("spec.ports");
        return;
    }
    if (ports == nullptr || !ports->IsArray()) {
        return;
    }
    for (rapidjson::SizeType i = 0; i < ports->Size(); ++i) {
        const std::string at = fmt::format("spec.ports[{}]", i);
        const auto number = json::int_at((*ports)[i], {"port"});
        if (number.value_or(0) < 1 || *number > 65535) {
            list.invalid(
                at + ".port", value(number.value_or(0)), "must be between 1 and 65535, inclusive"
            );
        }
        if (ports->Size() > 1 && json::string_at((*ports)[i], {"name"}).empty()) {
            list.required(at + ".name");
        }
    }
    if (const value* labels = json::find(*spec, "selector")) {
        validate_labels(*labels, "spec.selector", list);
    }
}

void validate_service_update(const value& before, const value& after, problems& list) {
    const value* old = json::find_path(before, {"spec", "clusterIP"});
    const value* next = json::find_path(after, {"spec", "clusterIP"});
    if (old != nullptr && next != nullptr && *old != *next &&
        json::string_at(after, {"spec", "type"}) != "ExternalName") {
        list.invalid("spec.clusterIPs[0]", *next, "may not change once set");
    }
}

void default_namespace(value& ns, arena& a) {
    value& status = json::object_at(ns, "status", a);
    json::set_default(status, "phase", "Active", a);
    value& spec = json::object_at(ns, "spec", a);
    if (json::find(spec, "finalizers") == nullptr) {
        value list = json::array();
        list.PushBack("kubernetes", a);
        json::set(spec, "finalizers", std::move(list), a);
    }
    value& metadata = json::object_at(ns, "metadata", a);
    const std::string name(json::string_at(metadata, {"name"}));
    json::set(json::object_at(metadata, "labels", a), "kubernetes.io/metadata.name", name, a);
}

void default_secret(value& secret, arena& a) {
    json::set_default(secret, "type", "Opaque", a);
    // stringData is write-only: it becomes data.
    if (const value* texts = json::find(secret, "stringData"); texts && texts->IsObject()) {
        const value copied = json::copy(*texts, a);
        value& data = json::object_at(secret, "data", a);
        for (const auto& m : copied.GetObject()) {
            if (m.value.IsString()) {
                json::set(
                    data, json::view(m.name), protocol::base64_encode(json::view(m.value)), a
                );
            }
        }
        json::remove(secret, "stringData");
    }
}

void validate_secret(const value& secret, problems& list) {
    std::size_t bytes = 0;
    if (const value* data = json::find(secret, "data"); data && data->IsObject()) {
        for (const auto& m : data->GetObject()) {
            bytes += m.value.IsString() ? m.value.GetStringLength() : 0;
        }
    }
    if (bytes > 1024 * 1024 / 3 * 4) {
        list.too_long("data", 1024 * 1024);
    }
}

void default_claim(value& claim, arena& a) {
    json::set_default(json::object_at(claim, "status", a), "phase", "Pending", a);
    json::set_default(json::object_at(claim, "spec", a), "volumeMode", "Filesystem", a);
}

void default_deployment(value& deployment, arena& a) {
    value& spec = json::object_at(deployment, "spec", a);
    json::set_default(spec, "replicas", 1, a);
    json::set_default(spec, "revisionHistoryLimit", 10, a);
    json::set_default(spec, "progressDeadlineSeconds", 600, a);
    json::object_at(deployment, "status", a);
}

void validate_data_update(const value& before, const value& after, problems& list) {
    if (!json::bool_at(before, {"immutable"})) {
        return;
    }
    if (!json::bool_at(after, {"immutable"})) {
        list.forbidden("immutable", "field is immutable when `immutable` is set");
    }
    for (const char* key : {"data", "binaryData"}) {
        const value* old = json::find(before, key);
        const value* next = json::find(after, key);
        const bool same = old == nullptr ? next == nullptr : next != nullptr && *old == *next;
        if (!same) {
            list.forbidden(key, "field is immutable when `immutable` is set");
        }
    }
}

}  // namespace signalbox::k8sio::server::rules
