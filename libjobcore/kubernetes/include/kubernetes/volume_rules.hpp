// SPDX-License-Identifier: Apache-2.0
//
// Rules over the fields of volumes.
#pragma once

#include "kubernetes/context.hpp"
#include "kubernetes/quantity.hpp"
#include "kubernetes/resource_rules.hpp"

#include <string>
#include <string_view>

namespace signalbox::kubernetes {

/// At most one of the members may be there, beside `itself`.
inline void check_one_source(
    const value& v,
    const place& at,
    const rule_context& context,
    std::string_view itself,
    std::string_view text
) {
    bool any = false;
    for (const auto& m : v.GetObject()) {
        if (view(m.name) == itself || m.value.IsNull()) {
            continue;
        }
        if (any) {
            context.forbidden(itself.empty() ? at : at.member(view(m.name)), std::string(text));
        }
        any = true;
    }
}

inline void check_volume(const value& v, const place& at, const rule_context& context) {
    check_one_source(v, at, context, "name", "may not specify more than 1 volume type");
}

inline void check_projection(const value& v, const place& at, const rule_context& context) {
    check_one_source(v, at, context, {}, "may not specify more than 1 volume type per source");
}

inline void check_csi(const value& v, const place& at, const rule_context& context) {
    const value* secret = find(v, "nodePublishSecretRef");
    if (secret != nullptr && text_at(*secret, "name").empty()) {
        const place here = at.member("nodePublishSecretRef");
        context.required(here.member("name"));
    }
}

inline void check_empty_dir(const value& v, const place& at, const rule_context& context) {
    const value* limit = find(v, "sizeLimit");
    const auto text = limit == nullptr ? std::nullopt : amount_text(*limit);
    if (text && quantity_nanos(*text) < 0) {
        context.forbidden(
            at.member("sizeLimit"), "SizeLimit field must be a valid resource quantity"
        );
    }
}

inline void check_pod_file(const value& v, const place& at, const rule_context& context) {
    const auto sources = present(v, {"fieldRef", "resourceFieldRef"});
    if (sources.empty()) {
        context.required(at, "one of fieldRef and resourceFieldRef is required");
    } else if (sources.size() > 1) {
        context.problems.add(
            fault::invalid,
            at,
            &v,
            "fieldRef and resourceFieldRef can not be specified simultaneously"
        );
    }
}

/// What a claim asks for.
inline void check_claim(const value& v, const place& at, const rule_context& context) {
    if (count_at(v, "accessModes") == 0) {
        context.required(at.member("accessModes"), "at least 1 access mode is required");
    }
    const place modes = at.member("accessModes");
    for (rapidjson::SizeType i = 0; i < count_at(v, "accessModes"); ++i) {
        const value& mode = (*find(v, "accessModes"))[i];
        const std::string_view text = mode.IsString() ? view(mode) : std::string_view{};
        if (text != "ReadWriteOnce" && text != "ReadOnlyMany" && text != "ReadWriteMany" &&
            text != "ReadWriteOncePod") {
            context.unsupported(
                modes, text, "ReadOnlyMany|ReadWriteMany|ReadWriteOnce|ReadWriteOncePod"
            );
        }
    }
    // A bad `dataSource` is dropped by the server.
    const value* source = find(v, "dataSourceRef");
    const std::string_view group = source == nullptr ? "" : text_at(*source, "apiGroup");
    const place source_place = at.member("dataSourceRef");
    if (source != nullptr && group.empty() && text_at(*source, "kind") != "PersistentVolumeClaim") {
        context.invalid(
            source_place,
            text_at(*source, "kind"),
            "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        );
    }
    for (std::string& bad : group.empty() ? complaints{} : dns_subdomain(group)) {
        context.invalid(source_place.member("apiGroup"), group, std::move(bad));
    }
    const value* resources = find(v, "resources");
    const value* requests = resources == nullptr ? nullptr : find(*resources, "requests");
    const value* storage = requests == nullptr ? nullptr : find(*requests, "storage");
    const place place_of_resources = at.member("resources");
    if (storage == nullptr) {
        context.required(place_of_resources.key("storage"));
        return;
    }
    const auto text = amount_text(*storage);
    if (text && quantity_nanos(*text) <= 0) {
        context.invalid(place_of_resources.key("storage"), *text, "must be greater than zero");
    }
}

}  // namespace signalbox::kubernetes
