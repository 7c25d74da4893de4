// SPDX-License-Identifier: Apache-2.0
//
// What an API server would refuse of the pods that a job describes (BEHAVIOUR.md api 6.6): the
// rules of libjobcore/kubernetes at the fields that hold parts of pods, in the words of our
// findings.
#include "api/rules/colossalai_parts.hpp"
#include "api/rules/rules.hpp"
#include "api/walk/text.hpp"
#include "kubernetes/validator.hpp"

#include <fmt/format.h>

namespace signalbox::core::schema {
namespace {

/// What a field holds in Kubernetes' words, by the mark of its row.
std::string_view type_of(const field& row) {
    static constexpr std::array types{
        std::pair<std::string_view, std::string_view>{"pod", "PodTemplateSpec"},
        std::pair<std::string_view, std::string_view>{"pod.spec.containers.env", "[]EnvVar"},
        std::pair<std::string_view, std::string_view>{
            "pod.spec.containers.resources", "ResourceRequirements"},
    };
    for (const auto& [mark, type] : types) {
        if (row.kubernetes == mark) {
            return type;
        }
    }
    return {};
}

std::string words_of(std::string_view holds) {
    using namespace kubernetes;
    static constexpr std::array words{
        std::pair<std::string_view, std::string_view>{"string", "a string"},
        std::pair<std::string_view, std::string_view>{"bool", "true or false"},
        std::pair<std::string_view, std::string_view>{"int32", "an integer of 32 bits"},
        std::pair<std::string_view, std::string_view>{"int64", "an integer"},
        std::pair<std::string_view, std::string_view>{"float64", "a number"},
        std::pair<std::string_view, std::string_view>{"bytes", "a string in base64"},
        std::pair<std::string_view, std::string_view>{
            "Quantity", "a quantity such as 2, 500m or 1.5Gi"},
        std::pair<std::string_view, std::string_view>{"IntOrString", "an integer or a string"},
        std::pair<std::string_view, std::string_view>{
            "Time", "a time such as 2026-01-31T12:00:00Z"},
    };
    for (const auto& [type, text] : words) {
        if (type == holds) {
            return std::string(text);
        }
    }
    return holds.starts_with(list_of)  ? "a list"
           : holds.starts_with(map_of) ? "an object of names and values"
                                       : "an object, " + std::string(holds);
}

std::string shown(const std::string& bad_json) {
    constexpr std::size_t most = 80;
    return bad_json.size() <= most ? bad_json : "what it is";
}

/// The field that a misspelled name of that type most likely means.
std::string guess(const kubernetes::schema& types, std::string_view type, std::string_view name) {
    std::vector<std::string_view> names;
    for (const kubernetes::field_row& row : types.fields(type)) {
        names.push_back(row.name);
    }
    const std::string_view near = nearest(name, names);
    return near.empty() ? std::string() : fmt::format("; did you mean `{}`?", near);
}

std::string message_of(const kubernetes::problem& p, const kubernetes::schema& types) {
    using kubernetes::fault;
    const auto with = [&p](std::string text) {
        return p.detail.empty() ? text : text + ": " + p.detail;
    };
    switch (p.what) {
        case fault::type:
            return fmt::format("`{}` must be {}, not {}", p.name, words_of(p.holds), shown(p.bad));
        case fault::unknown:
            return fmt::format(
                "{} is no field of {}{}", quoted(p.name), p.detail, guess(types, p.detail, p.name)
            );
        case fault::required:
            return with(fmt::format("`{}` is missing", p.name));
        case fault::invalid:
        case fault::unsupported:
            return with(fmt::format("`{}` must not be {}", p.name, shown(p.bad)));
        case fault::duplicate:
            return fmt::format("`{}` {} is there twice", p.name, shown(p.bad));
        case fault::forbidden:
            return with(fmt::format("`{}` must not be set here", p.name));
        case fault::not_found:
            return with(fmt::format("`{}` {} is not in this template", p.name, shown(p.bad)));
    }
    return p.detail;
}

class pod_checker {
public:
    explicit pod_checker(findings_collector& findings) : findings_(findings) {}

    void check(const node& n) {
        if (n.row != nullptr && n.present() && !type_of(*n.row).empty()) {
            check_part(n);
        }
        for (const node& member : n.members) {
            check(member);
        }
        // Of the launcher's template only a part is used (BEHAVIOUR.md api 4.4).
        const bool entries = n.row != nullptr && n.row->name == "replicaSpecs";
        for (const node& item : n.items) {
            const node* type = entries ? item.find("type") : nullptr;
            if (type != nullptr && type->broken()) {
                continue;  // what is used of it is not known
            }
            if (type != nullptr && !type->row->values.empty() && type->text() == launcher_type) {
                findings_collector told_already;
                check(walk_launcher_template(item, told_already));
            } else {
                check(item);
            }
        }
    }

private:
    void check_part(const node& n) {
        const std::string_view holds = type_of(*n.row);
        const kubernetes::place at("", n.pointer);
        kubernetes::problem_list problems;
        kubernetes::decoder(types_, kubernetes::integers::normalized, problems)
            .field(*n.value, holds, n.row->name, at);
        if (problems.empty()) {
            kubernetes::validator rules(types_, problems);
            if (n.row->kubernetes == "pod") {
                rules.pod_template(*n.value, at);
            } else {
                rules.container_field(*n.value, holds, at);
            }
        }
        for (const kubernetes::problem& p : problems.entries()) {
            findings_.error(n.order, p.pointer, message_of(p, types_), invalid_template);
        }
    }

    kubernetes::schema types_;
    findings_collector& findings_;
};

}  // namespace

void check_kubernetes(const node& spec, findings_collector& findings) {
    pod_checker(findings).check(spec);
}

}  // namespace signalbox::core::schema
