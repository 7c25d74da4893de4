// SPDX-License-Identifier: Apache-2.0
//
// Validation of leases, roles and budgets.
#include "server/built_in/built_in_rules.hpp"
#include "server/built_in/typed_objects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace signalbox::k8sio::server::rules {
namespace {

bool is_empty_list(const value& object, std::string_view key) {
    const value* list = json::find(object, key);
    return list == nullptr || list->Empty();
}

}  // namespace

void check_share(const value* share, const std::string& field, problems& list) {
    if (share == nullptr) {
        return;
    }
    if (!share->IsString()) {
        if (share->GetInt64() < 0) {
            list.invalid(field, *share, "must be greater than or equal to 0");
        }
        return;
    }
    const std::string_view text = json::view(*share);
    const std::string_view digits = text.substr(0, text.find('%'));
    if (!text.ends_with('%') || digits.size() + 1 != text.size() || digits.empty() ||
        digits.find_first_not_of("0123456789") != digits.npos) {
        list.invalid(
            field,
            *share,
            "a valid percent string must be a numeric string followed by an ending '%' (e.g. "
            "'1%',  or '93%', regex used for validation is '[0-9]+%')"
        );
    } else if (digits.size() > 3 || std::stoi(std::string(digits)) > 100) {
        list.invalid(field, *share, "must not be greater than 100%");
    }
}

void validate_lease(const value& lease, problems& list) {
    const value* spec = json::find(lease, "spec");
    if (spec == nullptr) {
        return;
    }
    const auto duration = json::int_at(*spec, {"leaseDurationSeconds"});
    if (duration && *duration <= 0) {
        list.invalid("spec.leaseDurationSeconds", value(*duration), "must be greater than 0");
    }
    const auto transitions = json::int_at(*spec, {"leaseTransitions"});
    if (transitions.value_or(0) < 0) {
        list.invalid(
            "spec.leaseTransitions", value(*transitions), "must be greater than or equal to 0"
        );
    }
}

void validate_role(const value& role, problems& list) {
    const value* rules = json::find(role, "rules");
    const bool cluster = json::string_at(role, {"kind"}) == "ClusterRole";
    for (rapidjson::SizeType i = 0; rules != nullptr && i < rules->Size(); ++i) {
        const value& rule = (*rules)[i];
        const std::string at = fmt::format("rules[{}]", i);
        if (is_empty_list(rule, "verbs")) {
            list.required(at + ".verbs", "verbs must contain at least one value");
        }
        if (!is_empty_list(rule, "nonResourceURLs")) {
            if (!cluster) {
                list.invalid(
                    at + ".nonResourceURLs",
                    *json::find(rule, "nonResourceURLs"),
                    "namespaced rules cannot apply to non-resource URLs"
                );
            } else if (!is_empty_list(rule, "apiGroups") || !is_empty_list(rule, "resources") ||
                       !is_empty_list(rule, "resourceNames")) {
                list.invalid(
                    at + ".nonResourceURLs",
                    *json::find(rule, "nonResourceURLs"),
                    "rules cannot apply to both regular resources and non-resource URLs"
                );
            }
            continue;
        }
        if (is_empty_list(rule, "apiGroups")) {
            list.required(at + ".apiGroups", "resource rules must supply at least one api group");
        }
        if (is_empty_list(rule, "resources")) {
            list.required(at + ".resources", "resource rules must supply at least one resource");
        }
    }
}

void validate_role_binding(const value& binding, problems& list) {
    static const std::string group = "rbac.authorization.k8s.io";
    const value no_text("");
    const value* subjects = json::find(binding, "subjects");
    const value* role_group = json::find_path(binding, {"roleRef", "apiGroup"});
    const std::string_view role_kind = json::string_at(binding, {"roleRef", "kind"});
    if (role_group != nullptr && json::view(*role_group) != group) {
        list.unsupported("roleRef.apiGroup", *role_group, {group});
    }
    const bool cluster = json::string_at(binding, {"kind"}) == "ClusterRoleBinding";
    if (role_kind != "ClusterRole" && (cluster || role_kind != "Role")) {
        const value* kind = json::find_path(binding, {"roleRef", "kind"});
        list.unsupported(
            "roleRef.kind",
            kind == nullptr ? no_text : *kind,
            cluster ? std::vector<std::string>{"ClusterRole"}
                    : std::vector<std::string>{"ClusterRole", "Role"}
        );
    }
    if (json::string_at(binding, {"roleRef", "name"}).empty()) {
        list.required("roleRef.name");
    }
    for (rapidjson::SizeType i = 0; subjects != nullptr && i < subjects->Size(); ++i) {
        const value& subject = (*subjects)[i];
        const std::string at = fmt::format("subjects[{}]", i);
        const std::string_view kind = json::string_at(subject, {"kind"});
        if (json::string_at(subject, {"name"}).empty()) {
            list.required(at + ".name");
        }
        if (kind != "ServiceAccount" && kind != "User" && kind != "Group") {
            const value* written = json::find(subject, "kind");
            list.unsupported(
                at + ".kind",
                written == nullptr ? no_text : *written,
                {"Group", "ServiceAccount", "User"}
            );
        } else if (kind == "ServiceAccount" && cluster && json::string_at(subject, {"namespace"}).empty()) {
            list.required(at + ".namespace");
        }
    }
}

void validate_budget(const value& budget, problems& list) {
    const value* spec = json::find(budget, "spec");
    if (spec == nullptr) {
        return;
    }
    if (json::find(*spec, "minAvailable") != nullptr &&
        json::find(*spec, "maxUnavailable") != nullptr) {
        list.invalid("spec", *spec, "minAvailable and maxUnavailable cannot be both set");
    }
    check_share(json::find(*spec, "minAvailable"), "spec.minAvailable", list);
    check_share(json::find(*spec, "maxUnavailable"), "spec.maxUnavailable", list);
    const value* policy = json::find(*spec, "unhealthyPodEvictionPolicy");
    const std::string_view text = json::string_at(*spec, {"unhealthyPodEvictionPolicy"});
    if (policy != nullptr && text != "AlwaysAllow" && text != "IfHealthyBudget") {
        list.unsupported(
            "spec.unhealthyPodEvictionPolicy", *policy, {"AlwaysAllow", "IfHealthyBudget"}
        );
    }
    if (const value* selector = json::find(*spec, "selector")) {
        validate_part(*selector, "LabelSelector", "spec.selector", list);
    }
}

}  // namespace signalbox::k8sio::server::rules
