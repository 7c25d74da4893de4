// SPDX-License-Identifier: Apache-2.0
//
// Rules over a pod's specification as a whole.
#pragma once

#include "kubernetes/context.hpp"
#include "kubernetes/forms.hpp"
#include "kubernetes/placement_rules.hpp"

#include <set>
#include <string>
#include <string_view>

namespace signalbox::kubernetes {

inline void check_unique_names(
    const value& spec,
    std::string_view key,
    const place& at,
    std::set<std::string_view>& names,
    const rule_context& context
) {
    const place list = at.member(key);
    for (rapidjson::SizeType i = 0; i < count_at(spec, key); ++i) {
        const std::string_view name = text_at((*find(spec, key))[i], "name");
        const place item = list.item(i);
        if (!name.empty() && !names.insert(name).second) {
            context.duplicate(item.member("name"), name);
        }
    }
}

inline void check_dns(const value& spec, const place& at, const rule_context& context) {
    const value* config = find(spec, "dnsConfig");
    const place field = at.member("dnsConfig");
    if (text_at(spec, "dnsPolicy") == "None") {
        if (config == nullptr) {
            context.required(field, "must provide `dnsConfig` when `dnsPolicy` is None");
        } else if (count_at(*config, "nameservers") == 0) {
            context.required(
                field.member("nameservers"),
                "must provide at least one DNS nameserver when `dnsPolicy` is None"
            );
        }
    }
    if (config != nullptr && count_at(*config, "nameservers") > 3) {
        context.problems.add(
            fault::invalid,
            field.member("nameservers"),
            find(*config, "nameservers"),
            "must not have more than 3 nameservers"
        );
    }
    const place options = field.member("options");
    for (rapidjson::SizeType i = 0; config != nullptr && i < count_at(*config, "options"); ++i) {
        if (text_at((*find(*config, "options"))[i], "name").empty()) {
            context.required(options.item(i), "must not be empty");
        }
    }
}

/// Two containers cannot have one port of the host.
inline void check_host_ports(const value& spec, const place& at, const rule_context& context) {
    std::set<std::string> taken;
    const place list = at.member("containers");
    for (rapidjson::SizeType i = 0; i < count_at(spec, "containers"); ++i) {
        const value& container = (*find(spec, "containers"))[i];
        const place item = list.item(i);
        const place ports = item.member("ports");
        for (rapidjson::SizeType k = 0; k < count_at(container, "ports"); ++k) {
            const value& port = (*find(container, "ports"))[k];
            const value* host = find(port, "hostPort");
            if (host == nullptr || !host->IsInt() || host->GetInt() == 0) {
                continue;
            }
            const std::string_view protocol = text_at(port, "protocol");
            std::string triple = fmt::format(
                "{}/{}/{}",
                protocol.empty() ? "TCP" : protocol,
                text_at(port, "hostIP"),
                host->GetInt()
            );
            if (!taken.insert(triple).second) {
                const place here = ports.item(k);
                context.duplicate(here.member("hostPort"), triple);
            }
        }
    }
}

inline void check_shared_namespaces(
    const value& spec, const place& at, const rule_context& context
) {
    const value* users = find(spec, "hostUsers");
    if (users != nullptr && users->IsFalse()) {
        for (const std::string_view key : {"hostNetwork", "hostPID", "hostIPC"}) {
            if (flag_at(spec, key)) {
                context.forbidden(at.member(key), "when `hostUsers` is false");
            }
        }
    }
    if (flag_at(spec, "shareProcessNamespace") && flag_at(spec, "hostPID")) {
        context.invalid(
            at.member("shareProcessNamespace"),
            *find(spec, "shareProcessNamespace"),
            "ShareProcessNamespace and HostPID cannot both be enabled"
        );
    }
}

inline void check_pod_spec(const value& spec, const place& at, const rule_context& context) {
    std::set<std::string_view> containers;
    check_unique_names(spec, "containers", at, containers, context);
    check_unique_names(spec, "initContainers", at, containers, context);
    std::set<std::string_view> volumes;
    check_unique_names(spec, "volumes", at, volumes, context);
    std::set<std::string_view> claims;
    check_unique_names(spec, "resourceClaims", at, claims, context);
    check_dns(spec, at, context);
    check_host_ports(spec, at, context);
    check_shared_namespaces(spec, at, context);
    check_spread_pairs(spec, at, context);
    check_gates(spec, at, context);
    if (count_at(spec, "ephemeralContainers") > 0) {
        context.forbidden(at.member("ephemeralContainers"), "cannot be set on create");
    }
}

inline void check_pod_claim(const value& v, const place& at, const rule_context& context) {
    const auto sources = present(v, {"resourceClaimName", "resourceClaimTemplateName"});
    if (sources.size() != 1) {
        context.problems.add(
            fault::invalid,
            at,
            &v,
            sources.empty()
                ? "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
                : "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be "
                  "specified"
        );
    }
}

}  // namespace signalbox::kubernetes
