// SPDX-License-Identifier: Apache-2.0
//
// Rules over the fields of containers: environment, mounts, probes, resources, security.
#pragma once

#include "kubernetes/context.hpp"
#include "kubernetes/forms.hpp"
#include "kubernetes/quantity.hpp"
#include "kubernetes/resource_rules.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

namespace signalbox::kubernetes {

/// A `lifecycle` that is nothing but a stop signal is dropped while that feature is off.
inline bool is_stop_signal_only(const value& v) {
    return find(v, "stopSignal") != nullptr && v.MemberCount() == 1;
}

inline void check_container(const value& v, const place& at, const rule_context& context) {
    if (context.ends) {
        for (const std::string_view key :
             {"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"}) {
            const value* member = find(v, key);
            if (member != nullptr && !is_stop_signal_only(*member)) {
                context.forbidden(
                    at.member(key),
                    "may not be set for init containers without restartPolicy=Always"
                );
            }
        }
    }
    std::set<std::string_view> names;
    const place ports = at.member("ports");
    for (rapidjson::SizeType i = 0; i < count_at(v, "ports"); ++i) {
        const value& port = (*find(v, "ports"))[i];
        const std::string_view name = text_at(port, "name");
        const place item = ports.item(i);
        if (!name.empty() && port_name(name).empty() && !names.insert(name).second) {
            context.duplicate(item.member("name"), name);
        }
        const value* host = find(port, "hostPort");
        const value* own = find(port, "containerPort");
        if (host == nullptr || !host->IsInt() || host->GetInt() == 0) {
            continue;
        }
        if (host->GetInt() < 1 || host->GetInt() > 65535) {
            context.invalid(
                item.member("hostPort"), *host, "must be between 1 and 65535, inclusive"
            );
        } else if (flag_at(*context.spec, "hostNetwork") && own != nullptr && *own != *host) {
            context.invalid(
                item.member("hostPort"),
                *host,
                "must match `containerPort` when `hostNetwork` is true"
            );
        }
    }
    std::set<std::string_view> paths;
    const place mounts = at.member("volumeMounts");
    for (rapidjson::SizeType i = 0; i < count_at(v, "volumeMounts"); ++i) {
        const value& mount = (*find(v, "volumeMounts"))[i];
        const std::string_view path = text_at(mount, "mountPath");
        if (!path.empty() && !paths.insert(path).second) {
            const place item = mounts.item(i);
            context.invalid(item.member("mountPath"), path, "must be unique");
        }
    }
}

inline const value* volume_named(const rule_context& context, std::string_view name) {
    if (context.volumes == nullptr) {
        return nullptr;
    }
    const auto it = context.volumes->find(name);
    return it == context.volumes->end() ? nullptr : it->second;
}

inline void check_mount(const value& v, const place& at, const rule_context& context) {
    if (volume_named(context, text_at(v, "name")) == nullptr) {
        context.not_found(at.member("name"), text_at(v, "name"));
    }
    const std::string_view expression = text_at(v, "subPathExpr");
    if (!expression.empty() && !text_at(v, "subPath").empty()) {
        context.invalid(
            at.member("subPathExpr"), expression, "subPathExpr and subPath are mutually exclusive"
        );
    }
    const value* propagation = find(v, "mountPropagation");
    if (propagation != nullptr && text_at(v, "mountPropagation").empty()) {
        context.unsupported(
            at.member("mountPropagation"), "", "Bidirectional|HostToContainer|None"
        );
    }
    const value* security =
        context.container == nullptr ? nullptr : find(*context.container, "securityContext");
    if (text_at(v, "mountPropagation") == "Bidirectional" &&
        (security == nullptr || !flag_at(*security, "privileged"))) {
        context.forbidden(
            at.member("mountPropagation"),
            "Bidirectional mount propagation is available only to privileged containers"
        );
    }
    const std::string_view recursive = text_at(v, "recursiveReadOnly");
    if ((recursive == "Enabled" || recursive == "IfPossible") && !flag_at(v, "readOnly")) {
        context.forbidden(
            at.member("recursiveReadOnly"), "may only be specified when readOnly is true"
        );
    }
}

inline void check_device(const value& v, const place& at, const rule_context& context) {
    const value* volume = volume_named(context, text_at(v, "name"));
    if (volume == nullptr) {
        context.not_found(at.member("name"), text_at(v, "name"));
    } else if (find(*volume, "persistentVolumeClaim") == nullptr && find(*volume, "ephemeral") == nullptr) {
        context.invalid(
            at.member("name"),
            text_at(v, "name"),
            "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        );
    }
}

inline void check_env(const value& v, const place& at, const rule_context& context) {
    const value* source = find(v, "valueFrom");
    if (source == nullptr) {
        return;
    }
    const place from = at.member("valueFrom");
    const auto sources =
        present(*source, {"fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef"});
    if (sources.empty()) {
        context.invalid(
            from,
            "",
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or "
            "`secretKeyRef`"
        );
    } else if (!text_at(v, "value").empty()) {
        context.invalid(from, "", "may not be specified when `value` is not empty");
    } else if (sources.size() > 1) {
        context.invalid(from, "", "may not have more than one field specified at a time");
    }
}

inline void check_env_from(const value& v, const place& at, const rule_context& context) {
    const auto sources = present(v, {"configMapRef", "secretRef"});
    if (sources.empty()) {
        context.invalid(at, "", "must specify one of: `configMapRef` or `secretRef`");
    } else if (sources.size() > 1) {
        context.invalid(at, "", "may not have more than one field specified at a time");
    }
}

/// The paths of a pod that a variable or a file may show.
inline void check_field_ref(const value& v, const place& at, const rule_context& context) {
    const std::string_view path = text_at(v, "fieldPath");
    const place field = at.member("fieldPath");
    const std::string_view version = text_at(v, "apiVersion");
    if (path.empty()) {
        return;  // missing: the table of fields says so
    }
    if (!version.empty() && version != "v1") {
        context.invalid(
            field,
            path,
            "error converting fieldPath: unsupported pod version: " + std::string(version)
        );
        return;
    }
    const std::size_t bracket = path.find("['");
    if (bracket != path.npos && path.ends_with("']")) {
        const std::string_view base = path.substr(0, bracket);
        const std::string_view key = path.substr(bracket + 2, path.size() - bracket - 4);
        if (base != "metadata.labels" && base != "metadata.annotations") {
            context.invalid(
                field,
                path,
                "error converting fieldPath: field label does not support subscript: " +
                    std::string(base)
            );
        } else {
            for (std::string& bad :
                 base == "metadata.labels" ? qualified_name(key) : annotation_key(key)) {
                context.invalid(at, key, std::move(bad));
            }
        }
        return;
    }
    constexpr std::array<std::string_view, 16> known{
        "metadata.annotations",
        "metadata.labels",
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.host",
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.nominatedNodeName",
        "status.phase",
        "status.podIP",
        "status.podIPs"};
    constexpr std::string_view for_env =
        "metadata.name|metadata.namespace|metadata.uid|spec.nodeName|spec.serviceAccountName|"
        "status.hostIP|status.hostIPs|status.podIP|status.podIPs";
    constexpr std::string_view for_files =
        "metadata.annotations|metadata.labels|metadata.name|metadata.namespace|metadata.uid";
    const std::string_view allowed = context.volume ? for_files : for_env;
    if (std::ranges::find(known, path) == known.end()) {
        context.invalid(
            field,
            path,
            "error converting fieldPath: field label not supported: " + std::string(path)
        );
    } else if (!is_among(path, allowed)) {
        context.unsupported(field, path, allowed);
    }
}

/// One of the units 1, 1k, 1Ki and so on.
inline bool is_unit(nanos amount) {
    for (nanos decimal = 1'000'000'000, binary = decimal; decimal <= amount || binary <= amount;) {
        if (amount == decimal || amount == binary) {
            return true;
        }
        decimal *= 1000;
        binary *= 1024;
        if (decimal > most_nanos / 1024) {
            return false;
        }
    }
    return false;
}

inline void check_resource_ref(const value& v, const place& at, const rule_context& context) {
    constexpr std::string_view known =
        "limits.cpu|limits.ephemeral-storage|limits.memory|requests.cpu|"
        "requests.ephemeral-storage|requests.memory";
    const std::string_view resource = text_at(v, "resource");
    if (context.volume && text_at(v, "containerName").empty()) {
        context.required(at.member("containerName"));
    }
    const bool pages =
        resource.starts_with("limits.hugepages-") || resource.starts_with("requests.hugepages-");
    if (!resource.empty() && !pages && !is_among(resource, known)) {
        context.unsupported(at.member("resource"), resource, known);
        return;
    }
    const value* divisor = find(v, "divisor");
    const auto text = divisor == nullptr ? std::nullopt : amount_text(*divisor);
    const nanos unit = text ? quantity_nanos(*text) : 0;
    const bool cpu = resource.ends_with(".cpu");
    if (unit == 0) {
        return;  // the server takes 1
    }
    if (cpu && unit != 1'000'000 && unit != 1'000'000'000) {
        context.invalid(
            at.member("divisor"),
            resource,
            "only divisor's values 1m and 1 are supported with the cpu resource"
        );
    } else if (!cpu && !is_unit(unit)) {
        context.invalid(
            at.member("divisor"),
            resource,
            fmt::format(
                "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are "
                "supported with the {} resource",
                resource.substr(resource.find('.') + 1)
            )
        );
    }
}

inline void check_probe(const value& v, const place& at, const rule_context& context) {
    const auto handlers = present(v, {"exec", "httpGet", "tcpSocket", "grpc"});
    if (handlers.empty()) {
        context.required(at, "must specify a handler type");
    }
    for (std::size_t i = 1; i < handlers.size(); ++i) {
        context.forbidden(at.member(handlers[i]), "may not specify more than 1 handler type");
    }
    const value* successes = find(v, "successThreshold");
    const bool readiness = at.name() == "readinessProbe";
    if (!readiness && successes != nullptr && successes->IsInt() && successes->GetInt() > 1) {
        context.invalid(at.member("successThreshold"), *successes, "must be 1");
    }
    const value* grace = find(v, "terminationGracePeriodSeconds");
    if (readiness && grace != nullptr) {
        context.invalid(
            at.member("terminationGracePeriodSeconds"),
            *grace,
            "must not be set for readinessProbes"
        );
    }
}

inline void check_lifecycle_handler(const value& v, const place& at, const rule_context& context) {
    const auto handlers = present(v, {"exec", "httpGet", "tcpSocket", "sleep"});
    if (handlers.empty()) {
        context.required(at, "must specify a handler type");
    }
    for (std::size_t i = 1; i < handlers.size(); ++i) {
        context.forbidden(at.member(handlers[i]), "may not specify more than 1 handler type");
    }
    const value* sleep = find(v, "sleep");
    const value* seconds = sleep == nullptr ? nullptr : find(*sleep, "seconds");
    const value* grace = find(*context.spec, "terminationGracePeriodSeconds");
    const std::int64_t most = grace != nullptr && grace->IsInt64() ? grace->GetInt64() : 30;
    if (seconds != nullptr && seconds->IsInt64() &&
        (seconds->GetInt64() < 0 || seconds->GetInt64() > most)) {
        context.invalid(
            at.member("sleep"),
            *seconds,
            fmt::format(
                "must be non-negative and less than terminationGracePeriodSeconds ({})", most
            )
        );
    }
}

inline void check_security(const value& v, const place& at, const rule_context& context) {
    const value* escalation = find(v, "allowPrivilegeEscalation");
    if (escalation != nullptr && escalation->IsFalse()) {
        if (flag_at(v, "privileged")) {
            context.problems.add(
                fault::invalid,
                at,
                &v,
                "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            );
        }
        const value* capabilities = find(v, "capabilities");
        for (rapidjson::SizeType i = 0;
             capabilities != nullptr && i < count_at(*capabilities, "add");
             ++i) {
            const value& added = (*find(*capabilities, "add"))[i];
            if (added.IsString() && view(added) == "CAP_SYS_ADMIN") {
                context.problems.add(
                    fault::invalid,
                    at,
                    &v,
                    "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` "
                    "CAP_SYS_ADMIN"
                );
            }
        }
    }
    const value* host_users = find(*context.spec, "hostUsers");
    if (text_at(v, "procMount") == "Unmasked" &&
        !(host_users != nullptr && host_users->IsFalse())) {
        context.invalid(
            at.member("procMount"), "Unmasked", "`hostUsers` must be false to use `Unmasked`"
        );
    }
}

/// Seccomp and AppArmor profiles.
inline void check_profile(const value& v, const place& at, const rule_context& context) {
    const bool local = text_at(v, "type") == "Localhost";
    const std::string_view what = at.name() == "appArmorProfile" ? "AppArmor" : "seccomp";
    if (local && text_at(v, "localhostProfile").empty()) {
        context.required(
            at.member("localhostProfile"),
            fmt::format("must be set when {} type is Localhost", what)
        );
    } else if (!local && find(v, "localhostProfile") != nullptr) {
        context.problems.add(
            fault::invalid,
            at.member("localhostProfile"),
            find(v, "localhostProfile"),
            fmt::format("can only be set when {} type is Localhost", what)
        );
    }
}

}  // namespace signalbox::kubernetes
