// SPDX-License-Identifier: Apache-2.0
//
// Defaults and validation of the other built-in kinds.
#include "k8sio/base64.hpp"
#include "kubernetes/forms.hpp"
#include "server/built_in/built_in_rules.hpp"
#include "server/built_in/typed_objects.hpp"
#include "server/kinds/meta.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

namespace {

/// A field whose text must be one of these; the server fills in what is missing.
struct choice {
    const char* field;
    std::vector<std::string> values;
};

void check_choices(
    const value& spec, const std::string& at, const std::vector<choice>& choices, problems& list
) {
    for (const choice& c : choices) {
        const value* v = json::find(spec, c.field);
        // Nothing is the default, which the real server fills in.
        if (v != nullptr && !json::view(*v).empty() &&
            std::find(c.values.begin(), c.values.end(), json::string_at(spec, {c.field})) ==
                c.values.end()) {
            list.unsupported(at + '.' + c.field, *v, c.values);
        }
    }
}

void check_not_negative(
    const value& spec,
    const std::string& at,
    std::initializer_list<const char*> fields,
    problems& list
) {
    for (const char* field : fields) {
        const auto number = json::int_at(spec, {field});
        if (number.value_or(0) < 0) {
            list.invalid(at + '.' + field, value(*number), "must be greater than or equal to 0");
        }
    }
}

void check_target_port(const value& port, const std::string& at, problems& list) {
    const value* target = json::find(port, "targetPort");
    if (target == nullptr) {
        return;
    }
    if (target->IsString()) {
        complain(
            kubernetes::port_name(json::view(*target)),
            at + ".targetPort",
            json::view(*target),
            list
        );
    } else if (target->IsInt() && (target->GetInt() < 1 || target->GetInt() > 65535)) {
        list.invalid(at + ".targetPort", *target, "must be between 1 and 65535, inclusive");
    }
}

void check_service_ports(const value& spec, problems& list) {
    const value* ports = json::find(spec, "ports");
    std::set<std::string> names;
    std::set<std::string> numbers;
    for (rapidjson::SizeType i = 0; ports != nullptr && i < ports->Size(); ++i) {
        const value& port = (*ports)[i];
        const std::string at = fmt::format("spec.ports[{}]", i);
        const auto number = json::int_at(port, {"port"});
        if (number.value_or(0) < 1 || *number > 65535) {
            list.invalid(
                at + ".port", value(number.value_or(0)), "must be between 1 and 65535, inclusive"
            );
        }
        const std::string name(json::string_at(port, {"name"}));
        if (name.empty() && ports->Size() > 1) {
            list.required(at + ".name");
        } else if (!name.empty()) {
            complain(kubernetes::dns_label(name), at + ".name", name, list);
            if (!names.insert(name).second) {
                list.duplicate(at + ".name", *json::find(port, "name"));
            }
        }
        check_choices(port, at, {{"protocol", {"SCTP", "TCP", "UDP"}}}, list);
        check_target_port(port, at, list);
        const std::string_view application = json::string_at(port, {"appProtocol"});
        if (!application.empty()) {
            complain(
                kubernetes::qualified_name(application), at + ".appProtocol", application, list
            );
        }
        if (json::find(port, "nodePort") != nullptr &&
            json::string_at(spec, {"type"}) == "ClusterIP") {
            list.forbidden(at + ".nodePort", "may not be used when `type` is 'ClusterIP'");
        }
        if (!numbers
                 .insert(
                     fmt::format("{}/{}", json::string_at(port, {"protocol"}), number.value_or(0))
                 )
                 .second) {
            list.duplicate(at, port);
        }
    }
}

/// What only a Service of type LoadBalancer has.
void check_balancer_fields(const value& spec, problems& list) {
    if (json::string_at(spec, {"type"}) == "LoadBalancer") {
        return;
    }
    constexpr std::string_view why = "may only be used when `type` is 'LoadBalancer'";
    for (const auto& [key, field] : std::initializer_list<std::pair<const char*, const char*>>{
             {"loadBalancerClass", "spec.loadBalancerClass"},
             {"allocateLoadBalancerNodePorts", "spec.allocateLoadBalancerNodePorts"},
             {"loadBalancerSourceRanges", "spec.LoadBalancerSourceRanges"},
         }) {
        const value* v = json::find(spec, key);
        if (v != nullptr && !(v->IsArray() && v->Empty())) {
            list.forbidden(field, why);
        }
    }
    const value* port = json::find(spec, "healthCheckNodePort");
    if (port != nullptr && port->GetInt64() != 0) {
        list.invalid(
            "spec.healthCheckNodePort",
            *port,
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        );
    }
}

void check_addresses(const value& spec, problems& list) {
    const value* all = json::find(spec, "clusterIPs");
    const std::string_view first =
        all == nullptr || all->Empty() ? std::string_view{} : json::view((*all)[0]);
    if (!first.empty() && first != json::string_at(spec, {"clusterIP"})) {
        list.invalid("spec.clusterIPs", *all, "first value must match `clusterIP`");
    }
    if (json::string_at(spec, {"ipFamilyPolicy"}) == "RequireDualStack") {
        list.invalid(
            "spec.ipFamilyPolicy",
            *json::find(spec, "ipFamilyPolicy"),
            "this cluster is not configured for dual-stack services"
        );
    }
    const std::string_view own = json::string_at(spec, {"clusterIP"});
    if (!own.empty() && own != "None") {
        complain(kubernetes::ip_address(own), "spec.clusterIPs[0]", own, list);
    }
    const value* external = json::find(spec, "externalIPs");
    for (rapidjson::SizeType i = 0; external != nullptr && i < external->Size(); ++i) {
        const std::string_view address = json::view((*external)[i]);
        complain(
            kubernetes::ip_address(address), fmt::format("spec.externalIPs[{}]", i), address, list
        );
    }
}

}  // namespace

void validate_service(const value& service, problems& list) {
    const value* spec = json::find(service, "spec");
    if (spec == nullptr) {
        return;
    }
    const value* ports = json::find(*spec, "ports");
    const std::string_view type = json::string_at(*spec, {"type"});
    const bool headless = json::string_at(*spec, {"clusterIP"}) == "None";
    const bool external = type == "ExternalName";
    if ((ports == nullptr || ports->Empty()) && !headless && !external) {
        list.required("spec.ports");
    }
    check_choices(
        *spec,
        "spec",
        {{"type", {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"}},
         {"sessionAffinity", {"ClientIP", "None"}},
         {"internalTrafficPolicy", {"Cluster", "Local"}},
         {"ipFamilyPolicy", {"PreferDualStack", "RequireDualStack", "SingleStack"}},
         {"trafficDistribution", {"PreferClose", "PreferSameZone", "PreferSameNode"}}},
        list
    );
    check_balancer_fields(*spec, list);
    const value* families = json::find(*spec, "ipFamilies");
    for (rapidjson::SizeType i = 0; families != nullptr && i < families->Size(); ++i) {
        const std::string_view family = json::view((*families)[i]);
        if (family != "IPv4" && family != "IPv6") {
            list.unsupported(
                fmt::format("spec.ipFamilies[{}]", i), (*families)[i], {"IPv4", "IPv6"}
            );
        }
    }
    const value* traffic = json::find(*spec, "externalTrafficPolicy");
    if (traffic != nullptr && type != "NodePort" && type != "LoadBalancer") {
        list.invalid(
            "spec.externalTrafficPolicy",
            *traffic,
            "may only be set for externally-accessible services"
        );
    }
    if (headless && (type == "NodePort" || type == "LoadBalancer")) {
        list.invalid(
            "spec.clusterIPs[0]",
            "None",
            fmt::format("may not be set to 'None' for {} services", type)
        );
    }
    if (external && headless) {
        list.forbidden("spec.clusterIPs", "may not be set for ExternalName services");
    }
    if (external) {
        const std::string_view name = json::string_at(*spec, {"externalName"});
        if (name.empty()) {
            list.required("spec.externalName");
        } else {
            complain(kubernetes::dns_subdomain(name), "spec.externalName", name, list);
        }
    }
    check_addresses(*spec, list);
    check_service_ports(*spec, list);
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
                json::set(data, json::view(m.name), base64_encode(json::view(m.value)), a);
            }
        }
        json::remove(secret, "stringData");
    }
}

namespace {

/// Keys of ConfigMaps and Secrets are names of files.
void check_keys(const value& object, const char* field, problems& list) {
    const value* data = json::find(object, field);
    for (rapidjson::SizeType i = 0; data != nullptr && i < data->MemberCount(); ++i) {
        const std::string_view key = json::view((data->MemberBegin() + i)->name);
        complain(kubernetes::config_key(key), fmt::format("{}[{}]", field, key), key, list);
    }
}

/// What a Secret of a type must have.
struct secret_keys {
    std::string_view type;
    std::vector<std::string> keys;
};

}  // namespace

void validate_config_map(const value& map, problems& list) {
    check_keys(map, "data", list);
    check_keys(map, "binaryData", list);
    const value* data = json::find(map, "data");
    const value* binary = json::find(map, "binaryData");
    for (rapidjson::SizeType i = 0; data != nullptr && i < data->MemberCount(); ++i) {
        const std::string_view key = json::view((data->MemberBegin() + i)->name);
        if (binary != nullptr && json::member(*binary, key) != nullptr) {
            list.invalid(
                fmt::format("data[{}]", key), key, "duplicate of key present in binaryData"
            );
        }
    }
}

void validate_secret(const value& secret, problems& list) {
    std::size_t bytes = 0;
    const value* data = json::find(secret, "data");
    for (rapidjson::SizeType i = 0; data != nullptr && i < data->MemberCount(); ++i) {
        const value& text = (data->MemberBegin() + i)->value;
        bytes += text.IsString() ? text.GetStringLength() : 0;
    }
    check_keys(secret, "data", list);
    if (bytes > 1024 * 1024 / 3 * 4) {
        list.too_long("data", 1024 * 1024);
    }
    static const std::vector<secret_keys> needed{
        {"kubernetes.io/tls", {"tls.crt", "tls.key"}},
        {"kubernetes.io/dockerconfigjson", {".dockerconfigjson"}},
        {"kubernetes.io/dockercfg", {".dockercfg"}},
        {"kubernetes.io/ssh-auth", {"ssh-privatekey"}},
    };
    for (const secret_keys& row : needed) {
        for (const std::string& key : row.keys) {
            if (json::string_at(secret, {"type"}) == row.type &&
                (data == nullptr || json::member(*data, key) == nullptr)) {
                list.required(fmt::format("data[{}]", key));
            }
        }
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
    value& strategy = json::object_at(spec, "strategy", a);
    json::set_default(strategy, "type", "RollingUpdate", a);
    if (json::string_at(strategy, {"type"}) == "RollingUpdate") {
        value& rolling = json::object_at(strategy, "rollingUpdate", a);
        for (const char* share : {"maxUnavailable", "maxSurge"}) {
            json::set_default(rolling, share, "25%", a);
        }
    }
    default_template(json::object_at(spec, "template", a), a);
    json::object_at(deployment, "status", a);
}

void default_replica_set(value& set, arena& a) {
    value& spec = json::object_at(set, "spec", a);
    json::set_default(spec, "replicas", 1, a);
    default_template(json::object_at(spec, "template", a), a);
    json::set_default(json::object_at(set, "status", a), "replicas", 0, a);
}

void default_priority_class(value& priority, arena& a) {
    json::set_default(priority, "preemptionPolicy", "PreemptLowerPriority", a);
}

void validate_claim(const value& claim, problems& list) {
    const value nothing = json::object();
    const value* spec = json::find(claim, "spec");
    validate_part(spec == nullptr ? nothing : *spec, "PersistentVolumeClaimSpec", "spec", list);
    const std::string_view storage = json::string_at(claim, {"spec", "storageClassName"});
    if (!storage.empty()) {
        complain(kubernetes::dns_subdomain(storage), "spec.storageClassName", storage, list);
    }
}

namespace {

bool selects_by(const value& requirement, const value* label) {
    const value* values = json::find(requirement, "values");
    const std::string_view action = json::string_at(requirement, {"operator"});
    const bool listed = label != nullptr && values != nullptr &&
                        std::find(values->Begin(), values->End(), *label) != values->End();
    return action == "In"       ? listed
           : action == "NotIn"  ? !listed
           : action == "Exists" ? label != nullptr
                                : label == nullptr;
}

bool is_empty_selector(const value& selector) {
    const value* labels = json::find(selector, "matchLabels");
    const value* requirements = json::find(selector, "matchExpressions");
    return (labels == nullptr || labels->ObjectEmpty()) &&
           (requirements == nullptr || requirements->Empty());
}

/// Whether a LabelSelector selects an object with these labels.
bool selects(const value& selector, const value& labels) {
    if (const value* wanted = json::find(selector, "matchLabels")) {
        for (const auto& m : wanted->GetObject()) {
            const value* label = json::member(labels, json::view(m.name));
            if (label == nullptr || *label != m.value) {
                return false;
            }
        }
    }
    const value* requirements = json::find(selector, "matchExpressions");
    for (rapidjson::SizeType i = 0; requirements != nullptr && i < requirements->Size(); ++i) {
        const value& r = (*requirements)[i];
        if (!selects_by(r, json::member(labels, json::string_at(r, {"key"})))) {
            return false;
        }
    }
    return true;
}

/// The selector of a Deployment or ReplicaSet, and the template that it must match.
void check_selected_template(const value& spec, problems& list) {
    const value nothing = json::object();
    const value* pods = json::find(spec, "template");
    const value* selector = json::find(spec, "selector");
    const value* labels =
        pods == nullptr ? nullptr : json::find_path(*pods, {"metadata", "labels"});
    const bool empty = selector != nullptr && is_empty_selector(*selector);
    const std::size_t before = list.size();
    if (selector == nullptr) {
        list.required("spec.selector");
    } else if (empty) {
        list.invalid("spec.selector", *selector, "empty selector is invalid for deployment");
    }
    const value& own = labels == nullptr ? nothing : *labels;
    if (selector != nullptr) {
        validate_part(*selector, "LabelSelector", "spec.selector", list);
    }
    if (selector != nullptr && list.size() > before && !empty) {
        list.invalid("spec.selector", *selector, "invalid label selector");
    } else if (!empty && (selector == nullptr || !selects(*selector, own))) {
        list.invalid(
            "spec.template.metadata.labels", own, "`selector` does not match template `labels`"
        );
    }
    validate_pod_template(pods == nullptr ? nothing : *pods, "spec.template", list);
    const value* policy =
        pods == nullptr ? nullptr : json::find_path(*pods, {"spec", "restartPolicy"});
    if (policy != nullptr && json::string_at(*pods, {"spec", "restartPolicy"}) != "Always") {
        list.unsupported("spec.template.spec.restartPolicy", *policy, {"Always"});
    }
    if (pods != nullptr && json::find_path(*pods, {"spec", "activeDeadlineSeconds"}) != nullptr) {
        list.forbidden(
            "spec.template.spec.activeDeadlineSeconds",
            "activeDeadlineSeconds in ReplicaSet is not Supported"
        );
    }
}

}  // namespace

void validate_deployment(const value& deployment, problems& list) {
    const value nothing = json::object();
    const value* found = json::find(deployment, "spec");
    const value& spec = found == nullptr ? nothing : *found;
    check_selected_template(spec, list);
    check_not_negative(spec, "spec", {"replicas", "minReadySeconds", "revisionHistoryLimit"}, list);
    const auto deadline = json::int_at(spec, {"progressDeadlineSeconds"});
    if (deadline && *deadline <= json::int_at(spec, {"minReadySeconds"}).value_or(0)) {
        list.invalid(
            "spec.progressDeadlineSeconds", value(*deadline), "must be greater than minReadySeconds"
        );
    }
    for (const char* key : {"maxUnavailable", "maxSurge"}) {
        check_share(
            json::find_path(spec, {"strategy", "rollingUpdate", key}),
            std::string("spec.strategy.rollingUpdate.") + key,
            list
        );
    }
    const value* type = json::find_path(spec, {"strategy", "type"});
    const std::string_view strategy = json::string_at(spec, {"strategy", "type"});
    if (type != nullptr && strategy != "Recreate" && strategy != "RollingUpdate") {
        list.unsupported("spec.strategy", *type, {"Recreate", "RollingUpdate"});
    }
}

void validate_replica_set(const value& set, problems& list) {
    const value nothing = json::object();
    const value* spec = json::find(set, "spec");
    check_selected_template(spec == nullptr ? nothing : *spec, list);
    check_not_negative(
        spec == nullptr ? nothing : *spec, "spec", {"replicas", "minReadySeconds"}, list
    );
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
        const bool same =
            old == nullptr ? next == nullptr : next != nullptr && json::equal(*old, *next);
        if (!same) {
            list.forbidden(key, "field is immutable when `immutable` is set");
        }
    }
}

}  // namespace signalbox::k8sio::server::rules
