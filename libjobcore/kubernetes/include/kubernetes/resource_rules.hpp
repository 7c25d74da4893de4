// SPDX-License-Identifier: Apache-2.0
//
// Requests and limits: names of resources, amounts, and how the two agree.
#pragma once

#include "kubernetes/context.hpp"
#include "kubernetes/forms.hpp"
#include "kubernetes/quantity.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>

namespace signalbox::kubernetes {

/// Of Kubernetes itself: a plain name, or one below kubernetes.io.
inline bool is_native_resource(std::string_view name) {
    return name.find('/') == name.npos || name.find("kubernetes.io/") != name.npos;
}

/// `nvidia.com/gpu` and the like: whole numbers that are never shared out twice.
inline bool is_extended_resource(std::string_view name) {
    return !is_native_resource(name) && !name.starts_with("requests.") &&
           qualified_name(name).empty();
}

inline bool is_hugepages(std::string_view name) {
    return name.starts_with("hugepages-");
}

inline bool is_overcommitted(std::string_view name) {
    return is_native_resource(name) && !is_hugepages(name);
}

/// A quantity in a JSON value, which the decoder took; nothing otherwise.
inline std::optional<std::string> amount_text(const value& v) {
    std::string text = v.IsString() ? std::string(view(v)) : json_text(v);
    return quantity_error(text).empty() ? std::optional(std::move(text)) : std::nullopt;
}

/// The same of an entry of a list of resources: null is zero, as for the server.
inline std::optional<std::string> amount_in(const value& v) {
    return v.IsNull() ? std::optional<std::string>("0") : amount_text(v);
}

/// The amount of a resource in a list of them: nothing if it is not named, or is no quantity. Looks
/// through the list: who asks for each name wants amounts_by_name().
inline std::optional<std::string> amount_of(const value* list, std::string_view name) {
    if (list == nullptr || !list->IsObject()) {
        return std::nullopt;
    }
    for (const auto& m : list->GetObject()) {
        if (view(m.name) == name) {
            return amount_in(m.value);
        }
    }
    return std::nullopt;
}

/// The entries of a list of resources by name; of several of one name the first, as in amount_of().
inline std::map<std::string_view, const value*> amounts_by_name(const value* list) {
    std::map<std::string_view, const value*> out;
    if (list != nullptr && list->IsObject()) {
        for (const auto& m : list->GetObject()) {
            out.emplace(view(m.name), &m.value);
        }
    }
    return out;
}

inline void check_resource_name(
    std::string_view name, const place& at, const rule_context& context
) {
    const complaints bad_name = qualified_name(name);
    for (const std::string& bad : bad_name) {
        context.invalid(at, name, bad);
    }
    constexpr std::array<std::string_view, 3> of_containers{"cpu", "memory", "ephemeral-storage"};
    constexpr std::array<std::string_view, 5> standard{
        "storage", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"};
    if (name.find('/') != name.npos) {
        if (!is_native_resource(name) && !is_extended_resource(name)) {
            context.invalid(at, name, "doesn't follow extended resource name standard");
        }
        return;
    }
    if (std::ranges::find(of_containers, name) != of_containers.end() || is_hugepages(name)) {
        return;
    }
    if (bad_name.empty() && std::ranges::find(standard, name) == standard.end()) {
        context.invalid(at, name, "must be a standard resource type or fully qualified");
    }
    context.invalid(at, name, "must be a standard resource for containers");
}

inline void check_amounts(const value& list, const place& at, const rule_context& context) {
    const auto entries = amounts_by_name(&list);
    for (const auto& m : list.GetObject()) {
        const std::string_view name = view(m.name);
        const place here = at.key(name);
        check_resource_name(name, here, context);
        const auto text = amount_in(*entries.at(name));
        if (!text) {
            continue;
        }
        const nanos amount = quantity_nanos(*text);
        if (amount < 0) {
            context.invalid(here, *text, "must be greater than or equal to 0");
        }
        if (is_extended_resource(name) && amount % 1'000'000'000 != 0) {
            context.invalid(here, *text, "must be an integer");
        }
        if (is_hugepages(name)) {
            const std::string_view size = name.substr(name.find('-') + 1);
            const nanos page = quantity_error(size).empty() ? quantity_nanos(size) : 0;
            if (page <= 0 || amount <= 0 || amount % page != 0) {
                context.invalid(
                    here,
                    *text,
                    fmt::format("{} is not positive integer multiple of {}", *text, name)
                );
            }
        }
    }
}

/// What is asked for must agree with the limit.
inline void check_against_limits(
    const value& requests, const value* limits, const place& at, const rule_context& context
) {
    const place place_of_requests = at.member("requests");
    const auto wanted = amounts_by_name(&requests);
    const auto bounds = amounts_by_name(limits);
    for (const auto& m : requests.GetObject()) {
        const std::string_view name = view(m.name);
        const auto bound = bounds.find(name);
        const auto asked = amount_in(*wanted.at(name));
        const auto most = bound == bounds.end() ? std::nullopt : amount_in(*bound->second);
        if (!asked) {
            continue;
        }
        if (!most) {
            if (!is_overcommitted(name)) {
                context.required(
                    at.member("limits"), "Limit must be set for non overcommitable resources"
                );
            }
            continue;
        }
        const nanos a = quantity_nanos(*asked);
        const nanos b = quantity_nanos(*most);
        if (is_overcommitted(name) ? a > b : a != b) {
            context.invalid(
                place_of_requests,
                *asked,
                fmt::format(
                    "must be {} to {} limit of {}",
                    is_overcommitted(name) ? "less than or equal" : "equal",
                    name,
                    *most
                )
            );
        }
    }
}

/// Requests and limits, of a container or of the pod.
inline void check_resources(const value& v, const place& at, const rule_context& context) {
    const value* requests = find(v, "requests");
    bool pages = false;
    bool plain = false;
    for (const std::string_view key : {"limits", "requests"}) {
        const value* list = find(v, key);
        if (list == nullptr || !list->IsObject()) {
            continue;
        }
        const place here = at.member(key);
        check_amounts(*list, here, context);
        for (const auto& m : list->GetObject()) {
            pages = pages || is_hugepages(view(m.name));
            plain = plain || view(m.name) == "cpu" || view(m.name) == "memory";
        }
    }
    if (pages && !plain) {
        context.forbidden(at, "HugePages require cpu or memory");
    }
    if (requests != nullptr && requests->IsObject()) {
        check_against_limits(*requests, find(v, "limits"), at, context);
    }
}

/// The containers' resources must fit into those of the pod.
inline void check_pod_resources(const value& v, const place& at, const rule_context& context) {
    const place requests = at.member("requests");
    const place limits = at.member("limits");
    for (const std::string_view name : {"cpu", "memory"}) {
        const auto most = amount_of(find(v, "limits"), name);
        const auto asked = amount_of(find(v, "requests"), name);
        nanos sum = 0;
        for (rapidjson::SizeType i = 0; i < count_at(*context.spec, "containers"); ++i) {
            const value* own = find((*find(*context.spec, "containers"))[i], "resources");
            const auto limit =
                own == nullptr ? std::nullopt : amount_of(find(*own, "limits"), name);
            auto request = own == nullptr ? std::nullopt : amount_of(find(*own, "requests"), name);
            request = request ? request : limit;  // the server's default
            sum += request ? quantity_nanos(*request) : 0;
            if (most && limit && quantity_nanos(*limit) > quantity_nanos(*most)) {
                context.invalid(
                    limits,
                    *limit,
                    fmt::format("must be less than or equal to pod limits of {}", *most)
                );
            }
        }
        const auto& bound = asked ? asked : most;
        if (bound && sum > quantity_nanos(*bound)) {
            context.invalid(
                requests,
                *bound,
                fmt::format("must be at least what the containers request in all of {}", name)
            );
        }
    }
}

/// A claim that a container uses must be one of the pod.
inline void check_used_claims(const value& v, const place& at, const rule_context& context) {
    const place list = at.member("claims");
    for (rapidjson::SizeType i = 0; i < count_at(v, "claims"); ++i) {
        const std::string_view name = text_at((*find(v, "claims"))[i], "name");
        const bool known = context.claims != nullptr && context.claims->contains(name);
        if (!known && !name.empty()) {
            context.not_found(
                list.item(i),
                name,
                count_at(*context.spec, "resourceClaims") == 0
                    ? "must be one of the names in pod.spec.resourceClaims which is empty"
                    : "must be one of the names in pod.spec.resourceClaims"
            );
        }
    }
}

inline void check_requirements(const value& v, const place& at, const rule_context& context) {
    if (context.container == nullptr && !context.volume) {
        // Of the pod as a whole: cpu, memory and huge pages only.
        for (const std::string_view key : {"limits", "requests"}) {
            const value* list = find(v, key);
            const place here = at.member(key);
            for (rapidjson::SizeType i = 0; list != nullptr && i < list->MemberCount(); ++i) {
                const std::string_view name = view((list->MemberBegin() + i)->name);
                if (name != "cpu" && name != "memory" && !is_hugepages(name)) {
                    context.unsupported(here.key(name), name, "cpu|hugepages-|memory");
                }
            }
        }
        check_pod_resources(v, at, context);
        if (find(v, "claims") != nullptr) {
            context.forbidden(
                at.member("claims"), "claims may not be set for Resources at pod-level"
            );
        }
    }
    check_resources(v, at, context);
    check_used_claims(v, at, context);
}

}  // namespace signalbox::kubernetes
