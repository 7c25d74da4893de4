// SPDX-License-Identifier: Apache-2.0
//
// Rules over the fields that say where a pod may run.
#pragma once

#include "kubernetes/context.hpp"
#include "kubernetes/forms.hpp"

#include <set>
#include <string>
#include <string_view>

namespace signalbox::kubernetes {

inline void check_toleration(const value& v, const place& at, const rule_context& context) {
    const std::string_view action = text_at(v, "operator");
    const std::string_view given = text_at(v, "value");
    const place field = at.member("operator");
    if (text_at(v, "key").empty() && action != "Exists") {
        context.invalid(
            field,
            action,
            "operator must be Exists when `key` is empty, which means \"match all values and all "
            "keys\""
        );
    }
    if (action == "Exists" && !given.empty()) {
        context.invalid(field, given, "value must be empty when `operator` is 'Exists'");
    } else if (action != "Exists") {
        for (std::string& bad : label_value(given)) {
            context.invalid(field, given, std::move(bad));
        }
    }
    if (find(v, "tolerationSeconds") != nullptr && text_at(v, "effect") != "NoExecute") {
        context.invalid(
            at.member("effect"),
            text_at(v, "effect"),
            "effect must be 'NoExecute' when `tolerationSeconds` is set"
        );
    }
}

/// A requirement on labels, or on fields, of nodes.
inline void check_node_requirement(const value& v, const place& at, const rule_context& context) {
    const std::string_view action = text_at(v, "operator");
    const std::string_view key = text_at(v, "key");
    const auto count = count_at(v, "values");
    const place values = at.member("values");
    if (at.name() == "matchFields") {
        if (action != "In" && action != "NotIn") {
            context.invalid(at.member("operator"), action, "not a valid selector operator");
        } else if (count != 1) {
            context.required(
                values,
                "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            );
        }
        if (key != "metadata.name") {
            context.invalid(at.member("key"), key, "not a valid field selector key");
        }
        return;
    }
    if (action == "In" || action == "NotIn") {
        if (count == 0) {
            context.required(values, "must be specified when `operator` is 'In' or 'NotIn'");
        }
    } else if (action == "Exists" || action == "DoesNotExist") {
        if (count > 0) {
            context.forbidden(
                values, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            );
        }
    } else if (action == "Gt" || action == "Lt") {
        if (count != 1) {
            context.required(
                values, "must be specified single value when `operator` is 'Lt' or 'Gt'"
            );
        }
    } else {
        context.invalid(at.member("operator"), action, "not a valid selector operator");
    }
    for (std::string& bad : qualified_name(key)) {
        context.invalid(at.member("key"), key, std::move(bad));
    }
    for (rapidjson::SizeType i = 0; i < count; ++i) {
        const value& item = (*find(v, "values"))[i];
        for (std::string& bad : label_value(item.IsString() ? view(item) : "")) {
            context.invalid(values.item(i), item, std::move(bad));
        }
    }
}

inline void check_label_requirement(const value& v, const place& at, const rule_context& context) {
    const std::string_view action = text_at(v, "operator");
    const auto count = count_at(v, "values");
    if (action == "In" || action == "NotIn") {
        if (count == 0) {
            context.required(
                at.member("values"), "must be specified when `operator` is 'In' or 'NotIn'"
            );
        }
    } else if (action == "Exists" || action == "DoesNotExist") {
        if (count > 0) {
            context.forbidden(
                at.member("values"),
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            );
        }
    } else {
        context.invalid(at.member("operator"), action, "not a valid selector operator");
    }
}

/// Keys whose values the server adds to the selector.
inline void check_label_keys(const value& v, const place& at, const rule_context& context) {
    for (const std::string_view key : {"matchLabelKeys", "mismatchLabelKeys"}) {
        if (count_at(v, key) == 0) {
            continue;
        }
        const place list = at.member(key);
        if (find(v, "labelSelector") == nullptr) {
            context.forbidden(list, "must not be specified when labelSelector is not set");
        }
        for (const value& item : find(v, key)->GetArray()) {
            const std::string_view name = item.IsString() ? view(item) : std::string_view{};
            for (std::string& bad : qualified_name(name)) {
                context.invalid(list, name, std::move(bad));
            }
        }
    }
}

inline void check_affinity_term(const value& v, const place& at, const rule_context& context) {
    check_label_keys(v, at, context);
}

inline void check_spread(const value& v, const place& at, const rule_context& context) {
    check_label_keys(v, at, context);
    const value* domains = find(v, "minDomains");
    const std::string_view action = text_at(v, "whenUnsatisfiable");
    if (domains != nullptr && action != "DoNotSchedule") {
        context.invalid(
            at.member("minDomains"),
            *domains,
            fmt::format(
                "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {}", action
            )
        );
    }
}

/// The places of a pod that must differ: constraints, gates.
inline void check_spread_pairs(const value& spec, const place& at, const rule_context& context) {
    std::set<std::string> pairs;
    const place list = at.member("topologySpreadConstraints");
    for (rapidjson::SizeType i = 0; i < count_at(spec, "topologySpreadConstraints"); ++i) {
        const value& v = (*find(spec, "topologySpreadConstraints"))[i];
        std::string pair =
            fmt::format("{{{}, {}}}", text_at(v, "topologyKey"), text_at(v, "whenUnsatisfiable"));
        if (!pairs.insert(pair).second) {
            const place item = list.item(i);
            context.duplicate(item.member("{topologyKey, whenUnsatisfiable}"), pair);
        }
    }
}

inline void check_gates(const value& spec, const place& at, const rule_context& context) {
    std::set<std::string_view> names;
    const place list = at.member("schedulingGates");
    for (rapidjson::SizeType i = 0; i < count_at(spec, "schedulingGates"); ++i) {
        const std::string_view name = text_at((*find(spec, "schedulingGates"))[i], "name");
        if (!names.insert(name).second) {
            context.duplicate(list.item(i), name);
        }
    }
}

}  // namespace signalbox::kubernetes
