// SPDX-License-Identifier: Apache-2.0
//
// Walks a value that the decoder took, along the rows of its type, and reports what Kubernetes'
// validation does.
#pragma once

#include "kubernetes/container_rules.hpp"
#include "kubernetes/fields.hpp"
#include "kubernetes/pod_rules.hpp"
#include "kubernetes/value_rules.hpp"
#include "kubernetes/volume_rules.hpp"

#include <array>
#include <set>
#include <string>
#include <string_view>

namespace signalbox::kubernetes {

struct typed_rule {
    std::string_view type;
    object_rule check;
};
inline constexpr std::array typed_rules{
    typed_rule{"AppArmorProfile", check_profile},
    typed_rule{"Container", check_container},
    typed_rule{"CSIVolumeSource", check_csi},
    typed_rule{"DownwardAPIVolumeFile", check_pod_file},
    typed_rule{"EmptyDirVolumeSource", check_empty_dir},
    typed_rule{"EnvFromSource", check_env_from},
    typed_rule{"EnvVar", check_env},
    typed_rule{"LabelSelectorRequirement", check_label_requirement},
    typed_rule{"LifecycleHandler", check_lifecycle_handler},
    typed_rule{"NodeSelectorRequirement", check_node_requirement},
    typed_rule{"ObjectFieldSelector", check_field_ref},
    typed_rule{"PersistentVolumeClaimSpec", check_claim},
    typed_rule{"PodAffinityTerm", check_affinity_term},
    typed_rule{"PodResourceClaim", check_pod_claim},
    typed_rule{"PodSpec", check_pod_spec},
    typed_rule{"Probe", check_probe},
    typed_rule{"ResourceFieldSelector", check_resource_ref},
    typed_rule{"ResourceRequirements", check_requirements},
    typed_rule{"SeccompProfile", check_profile},
    typed_rule{"SecurityContext", check_security},
    typed_rule{"Toleration", check_toleration},
    typed_rule{"TopologySpreadConstraint", check_spread},
    typed_rule{"Volume", check_volume},
    typed_rule{"VolumeDevice", check_device},
    typed_rule{"VolumeMount", check_mount},
    typed_rule{"VolumeProjection", check_projection},
};

class validator {
public:
    validator(const schema& types, problem_list& problems) : types_(types), problems_(problems) {}

    /// A PodTemplateSpec that the decoder took. Of its metadata only labels and annotations count.
    void pod_template(const value& v, const place& at) {
        const rule_context context{problems_};
        const place metadata_place = at.member("metadata");
        if (const value* metadata = find(v, "metadata")) {
            for (const field_row& row : types_.fields("ObjectMeta")) {
                if (const value* member = find(*metadata, row.name)) {
                    check_values(row, *member, metadata_place.member(row.name), context);
                }
            }
        }
        const value* spec = find(v, "spec");
        pod_spec(spec == nullptr ? empty_ : *spec, at.member("spec"));
    }

    /// A PodSpec that the decoder took.
    void pod_spec(const value& v, const place& at) {
        object(v, "PodSpec", at, rule_context{problems_});
    }

    /// What a field of a container, a claim or a selector holds, without what is around it.
    void container_field(const value& v, std::string_view holds, const place& at) {
        rule_context context{problems_};
        context.spec = &empty_;
        context.container = &empty_;
        content(v, holds, at, context);
    }

private:
    void object(const value& v, std::string_view type, const place& at, rule_context context) {
        // A volume of an image, with its mounts, is dropped while that feature is off, the default.
        if (!v.IsObject() || problems_.full() ||
            (type == "Volume" && find(v, "image") != nullptr)) {
            return;
        }
        enter(v, type, at, context);
        for (const field_row& row : types_.fields(type)) {
            const value* member = find(v, row.name);
            const place here = at.member(row.name);
            if (is_missing(row, member)) {
                missing(row, here, context);
                continue;
            }
            if (member != nullptr) {
                check_values(row, *member, here, context);
                content(*member, row.holds, here, context);
            }
        }
        for (const typed_rule& rule : typed_rules) {
            if (rule.type == type) {
                rule.check(v, at, context);
            }
        }
    }

    static void enter(
        const value& v, std::string_view type, const place& at, rule_context& context
    ) {
        if (type == "PodSpec") {
            context.spec = &v;
            context.volumes = volumes_of(v);
            context.claims = claims_of(v);
        } else if (type == "Container") {
            context.container = &v;
            context.ends = at.name() == "initContainers" && text_at(v, "restartPolicy") != "Always";
        } else if (type == "Volume") {
            context.volume = true;
        }
    }

    static std::shared_ptr<const std::map<std::string_view, const value*>> volumes_of(
        const value& spec
    ) {
        auto out = std::make_shared<std::map<std::string_view, const value*>>();
        for (rapidjson::SizeType i = 0; i < count_at(spec, "volumes"); ++i) {
            const value& volume = (*find(spec, "volumes"))[i];
            const std::string_view name = text_at(volume, "name");
            if (!name.empty()) {
                out->emplace(name, &volume);
            }
        }
        return out;
    }

    static std::shared_ptr<const std::set<std::string_view>> claims_of(const value& spec) {
        auto out = std::make_shared<std::set<std::string_view>>();
        const value* claims = find(spec, "resourceClaims");
        for (rapidjson::SizeType i = 0; i < count_at(spec, "resourceClaims"); ++i) {
            out->insert(text_at((*claims)[i], "name"));
        }
        return out;
    }

    void content(
        const value& v, std::string_view holds, const place& at, const rule_context& context
    ) {
        if (holds.starts_with(list_of)) {
            for (rapidjson::SizeType i = 0; v.IsArray() && i < v.Size(); ++i) {
                item(v[i], holds.substr(list_of.size()), at.item(i), context);
            }
        } else if (!holds.starts_with(map_of) && !is_scalar(holds)) {
            object(v, holds, at, context);
        }
    }

    /// A null in a list is an object without members.
    void item(
        const value& v, std::string_view holds, const place& at, const rule_context& context
    ) {
        if (v.IsNull() && !is_scalar(holds)) {
            object(empty_, holds, at, context);
        } else {
            content(v, holds, at, context);
        }
    }

    static bool is_missing(const field_row& row, const value* member) {
        const text_rule* rule = rule_for(text_rules, row.type, row.name);
        if (rule != nullptr && rule->empty == when_empty::checked) {
            return member == nullptr;
        }
        if (row.is == presence::optional &&
            rule_for(also_required, row.type, row.name) == nullptr) {
            return false;
        }
        if (row.holds == "string") {
            return member == nullptr || (member->IsString() && view(*member).empty());
        }
        if (row.holds.starts_with(list_of)) {
            return member == nullptr || (member->IsArray() && member->Empty());
        }
        return member == nullptr || (row.type == "ContainerPort" && is_zero(*member));
    }

    static bool is_zero(const value& v) { return v.IsInt() && v.GetInt() == 0; }

    void missing(const field_row& row, const place& at, const rule_context& context) {
        const number_rule* number = rule_for(number_rules, row.type, row.name);
        const text_rule* rule = rule_for(text_rules, row.type, row.name);
        if (rule != nullptr && rule->empty == when_empty::checked) {
            complain("", rule->form, at, context);
        } else if (row.type == "TopologySpreadConstraint" && !row.values.empty()) {
            context.unsupported(at, "", row.values);
        } else if (number != nullptr && row.type != "ContainerPort") {
            check_number(value(0), *number, at, context);
        } else if (number == nullptr && (row.holds == "int32" || row.holds == "int64")) {
            return;  // may be 0, the value of what is not there
        } else if (is_scalar(row.holds) || row.holds.starts_with(list_of) || rule_for(also_required, row.type, row.name) != nullptr) {
            const required_text* text = rule_for(required_texts, row.type, row.name);
            context.required(at, std::string(text == nullptr ? "" : text->detail));
        } else {
            object(empty_, row.holds, at, context);
        }
    }

    void check_values(
        const field_row& row, const value& v, const place& at, const rule_context& context
    ) {
        const value_set* set = rule_for(enforced, row.type, row.name);
        const std::string_view values = set == nullptr ? row.values : set->values;
        if (!values.empty() && v.IsString() && !view(v).empty() &&
            rule_for(not_enforced, row.type, row.name) == nullptr && !is_among(view(v), values)) {
            context.unsupported(at, view(v), values);
        }
        if (const text_rule* rule = rule_for(text_rules, row.type, row.name)) {
            check_text(v, *rule, at, context);
        }
        if (const number_rule* rule = rule_for(number_rules, row.type, row.name)) {
            for (rapidjson::SizeType i = 0; v.IsArray() && i < v.Size(); ++i) {
                check_number(v[i], *rule, at.item(i), context);
            }
            check_number(v, *rule, at, context);
        }
    }

    static void complain(
        std::string_view text,
        complaints (*form)(std::string_view),
        const place& at,
        const rule_context& context
    ) {
        for (std::string& bad : form(text)) {
            context.invalid(at, text, std::move(bad));
        }
    }

    static void check_text(
        const value& v, const text_rule& rule, const place& at, const rule_context& context
    ) {
        if (rule.about == part::whole) {
            if (v.IsString() && (rule.empty == when_empty::checked || !view(v).empty())) {
                complain(view(v), rule.form, at, context);
            }
        } else if (rule.about == part::items) {
            for (rapidjson::SizeType i = 0; v.IsArray() && i < v.Size(); ++i) {
                complain(v[i].IsString() ? view(v[i]) : "", rule.form, at.item(i), context);
            }
        } else if (v.IsObject()) {
            for (const auto& m : v.GetObject()) {
                complain(
                    view(m.name),
                    rule.about == part::keys ? annotation_key : qualified_name,
                    at,
                    context
                );
                if (rule.about == part::keys_and_values && m.value.IsString()) {
                    complain(view(m.value), rule.form, at, context);
                }
            }
        }
    }

    static void check_number(
        const value& v, const number_rule& rule, const place& at, const rule_context& context
    ) {
        if (v.IsString()) {
            complain(view(v), port_name, at, context);  // an int-or-string is a port
        } else if (v.IsInt64() && (v.GetInt64() < rule.least || v.GetInt64() > rule.most)) {
            context.invalid(
                at,
                v,
                rule.detail.empty()
                    ? fmt::format("must be between {} and {}, inclusive", rule.least, rule.most)
                    : std::string(rule.detail)
            );
        }
    }

    const schema& types_;
    problem_list& problems_;
    const value empty_{rapidjson::kObjectType};
};

}  // namespace signalbox::kubernetes
