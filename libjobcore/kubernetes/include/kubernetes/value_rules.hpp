// SPDX-License-Identifier: Apache-2.0
//
// What Kubernetes wants of single values in a pod's specification, beside what the table of fields
// says. Rules over several fields are in *_rules.hpp beside this file.
#pragma once

#include "kubernetes/forms.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace signalbox::kubernetes {

inline constexpr std::int64_t most_id = std::numeric_limits<std::int32_t>::max();
inline constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

/// What of a field a form is about.
enum class part { whole, items, keys_and_values, keys };
/// What an empty text is.
enum class when_empty {
    usual,    ///< missing if the field must be there, else fine
    checked,  ///< against the form too
};

struct text_rule {
    std::string_view type, field;
    complaints (*form)(std::string_view text);
    part about = part::whole;
    when_empty empty = when_empty::usual;
};

/// Bounds of a number; the text of an error is made of them, or `detail`.
struct number_rule {
    std::string_view type, field;
    std::int64_t least, most;
    std::string_view detail = {};
    part about = part::whole;
};

/// The names of search domains: `_` may be in them, and a dot at their end.
inline complaints search_domain(std::string_view text) {
    std::string plain(text);
    if (plain.ends_with('.')) {
        plain.pop_back();
    }
    std::ranges::replace(plain, '_', '0');
    complaints out;
    complain_if(
        out,
        !plain.empty() && !dns_subdomain(plain).empty(),
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', "
        "'-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', "
        "regex used for validation is "
        "'[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')"
    );
    return out;
}

/// The name of a kernel setting, with dots or slashes.
inline complaints sysctl_name(std::string_view name) {
    bool good = name.size() <= 253;
    for (std::size_t from = 0; good && from <= name.size();) {
        const std::size_t to = std::min(name.find_first_of("./", from), name.size());
        std::string part(name.substr(from, to - from));
        std::ranges::replace(part, '_', '-');
        good = is_label_shaped(part);
        from = to + 1;
    }
    complaints out;
    complain_if(
        out,
        !good,
        "must have at most 253 characters and match regex "
        "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
    );
    return out;
}

inline complaints device_path(std::string_view path) {
    complaints out;
    complain_if(out, has_back_step(path), "can not contain backsteps ('..')");
    return out;
}

inline complaints csi_driver(std::string_view name) {
    complaints out;
    complain_if(out, name.size() > 63, at_most(63));
    for (std::string& text : dns_subdomain(name)) {
        out.push_back(std::move(text));
    }
    return out;
}

inline complaints any_text(std::string_view) {
    return {};
}

inline constexpr std::array text_rules{
    text_rule{"ConfigMapEnvSource", "name", dns_subdomain},
    text_rule{"ConfigMapKeySelector", "key", config_key},
    text_rule{"ConfigMapKeySelector", "name", dns_subdomain, part::whole, when_empty::checked},
    text_rule{"Container", "image", trimmed},
    text_rule{"Container", "name", dns_label},
    text_rule{"ContainerPort", "name", port_name},
    text_rule{"CSIVolumeSource", "driver", csi_driver},
    text_rule{"DownwardAPIVolumeFile", "path", local_file},
    text_rule{"EnvFromSource", "prefix", env_name},
    text_rule{"EnvVar", "name", env_name},
    text_rule{"HostAlias", "hostnames", dns_subdomain, part::items},
    text_rule{"HostAlias", "ip", ip_address, part::whole, when_empty::checked},
    text_rule{"HostPathVolumeSource", "path", no_back_step},
    text_rule{"HTTPHeader", "name", header_name, part::whole, when_empty::checked},
    text_rule{"HTTPHeader", "value", any_text, part::whole, when_empty::checked},
    text_rule{"KeyToPath", "path", local_file},
    text_rule{"LabelSelector", "matchLabels", label_value, part::keys_and_values},
    text_rule{"LabelSelectorRequirement", "key", qualified_name, part::whole, when_empty::checked},
    text_rule{"LabelSelectorRequirement", "operator", any_text, part::whole, when_empty::checked},
    text_rule{"LabelSelectorRequirement", "values", label_value, part::items},
    text_rule{"NFSVolumeSource", "path", absolute_path},
    text_rule{"NodeSelectorRequirement", "key", any_text, part::whole, when_empty::checked},
    text_rule{"NodeSelectorRequirement", "operator", any_text, part::whole, when_empty::checked},
    text_rule{"ObjectMeta", "annotations", qualified_name, part::keys},
    text_rule{"ObjectMeta", "labels", label_value, part::keys_and_values},
    text_rule{"PodAffinityTerm", "namespaces", dns_label, part::items},
    text_rule{"PodAffinityTerm", "topologyKey", qualified_name},
    text_rule{"PodDNSConfig", "nameservers", ip_address, part::items},
    text_rule{"PodDNSConfig", "searches", search_domain, part::items},
    text_rule{
        "PodReadinessGate", "conditionType", qualified_name, part::whole, when_empty::checked},
    text_rule{"PodResourceClaim", "name", dns_label},
    text_rule{"PodSchedulingGate", "name", qualified_name, part::whole, when_empty::checked},
    text_rule{"PodSpec", "hostname", dns_label},
    text_rule{"PodSpec", "nodeName", dns_subdomain},
    text_rule{"PodSpec", "nodeSelector", label_value, part::keys_and_values},
    text_rule{"PodSpec", "serviceAccount", dns_subdomain},
    text_rule{"PodSpec", "serviceAccountName", dns_subdomain},
    text_rule{"PodSpec", "subdomain", dns_label},
    text_rule{"SecretEnvSource", "name", dns_subdomain},
    text_rule{"SecretKeySelector", "key", config_key},
    text_rule{"SecretKeySelector", "name", dns_subdomain, part::whole, when_empty::checked},
    text_rule{"ServiceAccountTokenProjection", "path", local_file},
    text_rule{"Sysctl", "name", sysctl_name},
    text_rule{"Sysctl", "value", any_text, part::whole, when_empty::checked},
    text_rule{"Toleration", "key", qualified_name},
    text_rule{"Volume", "name", dns_label},
    text_rule{"VolumeDevice", "devicePath", device_path},
    text_rule{"VolumeMount", "subPath", relative_path},
    text_rule{"VolumeMount", "subPathExpr", relative_path},
};

inline constexpr std::string_view mode_text =
    "must be a number between 0 and 0777 (octal), both inclusive";
inline constexpr std::string_view weight_text = "must be in the range 1-100";
inline constexpr std::string_view positive_text = "must be greater than zero";
inline constexpr std::string_view natural_text = "must be greater than or equal to 0";

inline constexpr std::array number_rules{
    number_rule{"ConfigMapVolumeSource", "defaultMode", 0, 0777, mode_text},
    number_rule{"ContainerPort", "containerPort", 1, 65535},
    number_rule{"DownwardAPIVolumeFile", "mode", 0, 0777, mode_text},
    number_rule{"DownwardAPIVolumeSource", "defaultMode", 0, 0777, mode_text},
    number_rule{"GRPCAction", "port", 1, 65535},
    number_rule{"HTTPGetAction", "port", 1, 65535},
    number_rule{"KeyToPath", "mode", 0, 0777, mode_text},
    number_rule{"PodSecurityContext", "fsGroup", 0, most_id},
    number_rule{"PodSecurityContext", "runAsGroup", 0, most_id},
    number_rule{"PodSecurityContext", "runAsUser", 0, most_id},
    number_rule{"PodSecurityContext", "supplementalGroups", 0, most_id, {}, part::items},
    number_rule{"PodSpec", "activeDeadlineSeconds", 1, most_id},
    number_rule{"PreferredSchedulingTerm", "weight", 1, 100, weight_text},
    number_rule{"Probe", "failureThreshold", 0, no_limit, natural_text},
    number_rule{"Probe", "initialDelaySeconds", 0, no_limit, natural_text},
    number_rule{"Probe", "periodSeconds", 0, no_limit, natural_text},
    number_rule{"Probe", "successThreshold", 0, no_limit, natural_text},
    number_rule{"Probe", "terminationGracePeriodSeconds", 1, no_limit, "must be greater than 0"},
    number_rule{"Probe", "timeoutSeconds", 0, no_limit, natural_text},
    number_rule{"ProjectedVolumeSource", "defaultMode", 0, 0777, mode_text},
    number_rule{"SecretVolumeSource", "defaultMode", 0, 0777, mode_text},
    number_rule{"SecurityContext", "runAsGroup", 0, most_id},
    number_rule{"SecurityContext", "runAsUser", 0, most_id},
    number_rule{
        "ServiceAccountTokenProjection",
        "expirationSeconds",
        600,
        std::int64_t{1} << 32,
        "may not specify a duration less than 10 minutes"},
    number_rule{"TCPSocketAction", "port", 1, 65535},
    number_rule{"TopologySpreadConstraint", "maxSkew", 1, no_limit, positive_text},
    number_rule{"TopologySpreadConstraint", "minDomains", 1, no_limit, positive_text},
    number_rule{"WeightedPodAffinityTerm", "weight", 1, 100, weight_text},
};

/// Values that the OpenAPI document names, but the server does not insist on; or in other words.
struct loose_values {
    std::string_view type, field;
};
inline constexpr std::array not_enforced{
    loose_values{"Lifecycle", "stopSignal"},              // dropped while its feature is off
    loose_values{"NodeSelectorRequirement", "operator"},  // placement_rules.hpp
};

/// Values that the server insists on, though its OpenAPI document does not name them.
struct value_set {
    std::string_view type, field, values;
};
inline constexpr std::array enforced{
    value_set{"ContainerResizePolicy", "resourceName", "cpu|memory"},
    value_set{"ContainerResizePolicy", "restartPolicy", "NotRequired|RestartContainer"},
    value_set{"PodSecurityContext", "seLinuxChangePolicy", "MountOption|Recursive"},
    value_set{"PodOS", "name", "linux|windows"},
    value_set{"VolumeMount", "recursiveReadOnly", "Disabled|Enabled|IfPossible"},
};

/// Fields that must be there, with what the server says beside "Required value".
struct required_text {
    std::string_view type, field, detail;
};
inline constexpr std::array required_texts{
    required_text{"AppArmorProfile", "type", "type is required when appArmorProfile is set"},
    required_text{"NodeSelector", "nodeSelectorTerms", "must have at least one node selector term"},
    required_text{"PodAffinityTerm", "topologyKey", "can not be empty"},
    required_text{"SeccompProfile", "type", "type is required when seccompProfile is set"},
    required_text{"TopologySpreadConstraint", "topologyKey", "can not be empty"},
};

/// Fields that must be there, though the OpenAPI document calls them optional.
inline constexpr std::array also_required{
    loose_values{"Container", "image"},
    loose_values{"ConfigMapEnvSource", "name"},
    loose_values{"ConfigMapVolumeSource", "name"},
    loose_values{"ConfigMapProjection", "name"},
    loose_values{"EphemeralVolumeSource", "volumeClaimTemplate"},
    loose_values{"ExecAction", "command"},
    loose_values{"SecretEnvSource", "name"},
    loose_values{"SecretProjection", "name"},
    loose_values{"SecretVolumeSource", "secretName"},
};

template <class Table>
constexpr auto rule_for(const Table& table, std::string_view type, std::string_view field) {
    for (const auto& row : table) {
        if (row.type == type && row.field == field) {
            return &row;
        }
    }
    return static_cast<decltype(table.data())>(nullptr);
}

}  // namespace signalbox::kubernetes
