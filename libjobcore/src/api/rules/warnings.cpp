// SPDX-License-Identifier: Apache-2.0
//
// What is accepted and does not do what it seems to: BEHAVIOUR.md api 6.7.
#include "api/rules/rules.hpp"
#include "api/walk/text.hpp"
#include "kubernetes/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace signalbox::core::schema {
namespace {

bool is_name_character(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/// The first `$(NAME)` that is not escaped as `$$(NAME)`; empty if there is none.
std::string_view reference_in(std::string_view text) {
    for (std::size_t at = text.find('$'); at != text.npos; at = text.find('$', at)) {
        if (text.substr(at).starts_with("$$")) {
            at += 2;
            continue;
        }
        std::size_t end = at + 2;
        while (end < text.size() && is_name_character(text[end])) {
            ++end;
        }
        if (text.substr(at).starts_with("$(") && end > at + 2 && end < text.size() &&
            text[end] == ')' && !(text[at + 2] >= '0' && text[at + 2] <= '9')) {
            return text.substr(at, end + 1 - at);
        }
        ++at;
    }
    return {};
}

/// A shell's own `$(command)` is mostly in lower case.
bool looks_like_variable(std::string_view reference) {
    return std::none_of(reference.begin(), reference.end(), [](char c) {
        return c >= 'a' && c <= 'z';
    });
}

/// Walks a pod's specification to the texts in which the kubelet expands nothing.
class reference_finder {
public:
    reference_finder(const node& pod_template, findings_collector& findings)
        : template_(pod_template), findings_(findings) {}

    void walk(const json::value& v, const kubernetes::place& at, std::string_view key) {
        if (v.IsObject()) {
            for (const auto& m : v.GetObject()) {
                const std::string_view name = json::view(m.name);
                if (!is_expanded(key, name)) {
                    walk(m.value, at.member(name), name);
                }
            }
        } else if (v.IsArray()) {
            for (rapidjson::SizeType i = 0; i < v.Size(); ++i) {
                walk(v[i], at.item(i), key);
            }
        } else if (v.IsString()) {
            report(json::view(v), at, key);
        }
    }

private:
    /// `name` in what `key` holds: commands and variables of containers, and paths by expression.
    static bool is_expanded(std::string_view key, std::string_view name) {
        const bool container = key == "containers" || key == "initContainers";
        return (container && (name == "command" || name == "args")) ||
               (key == "env" && name == "value") || name == "subPathExpr";
    }

    void report(std::string_view text, const kubernetes::place& at, std::string_view key) {
        const std::string_view reference = reference_in(text);
        if (reference.empty() || (key == "command" && !looks_like_variable(reference)) ||
            findings_.count_if_full(severity::warning)) {
            return;
        }
        findings_.warning(
            template_.order,
            at.pointer(),
            fmt::format(
                "nothing expands {} here: variables are expanded in `command`, `args`, the values "
                "of `env` and `subPathExpr` of containers",
                reference
            ),
            spec_warning
        );
    }

    const node& template_;
    findings_collector& findings_;
};

constexpr std::string_view local_rank = "LOCAL_RANK";
constexpr std::array<std::string_view, 3> rank_variables{"RANK", "WORLD_SIZE", local_rank};
constexpr std::array<std::string_view, 2> address_variables{"MASTER_ADDR", "MASTER_PORT"};

void check_variable(
    std::string_view name,
    std::string_view value,
    const node& pod_template,
    const std::string& pointer,
    const rank_rules& rules,
    findings_collector& findings
) {
    if (std::find(address_variables.begin(), address_variables.end(), name) !=
        address_variables.end()) {
        findings.warning(
            pod_template.order,
            pointer,
            fmt::format(
                "this {} is used in place of the operator's: pods train together only if it leads "
                "all of them to the same place",
                name
            ),
            spec_warning
        );
    } else if (std::find(rank_variables.begin(), rank_variables.end(), name) == rank_variables.end()) {
        return;
    } else if (rules.launcher) {
        findings.warning(
            pod_template.order,
            pointer,
            fmt::format("{} has no effect: the launcher gives each rank its own", name),
            field_ignored
        );
    } else if (name == local_rank) {
        if (value != "0") {
            findings.warning(
                pod_template.order,
                pointer,
                "LOCAL_RANK is used as it is here; in a pod that trains with one process it is 0",
                spec_warning
            );
        }
    } else if (rules.several) {
        findings.error(
            pod_template.order,
            pointer,
            fmt::format(
                "{} must not be set where a type has more than one replica: all of them would have "
                "the same value",
                name
            ),
            invalid_template
        );
    } else {
        findings.warning(
            pod_template.order,
            pointer,
            fmt::format("this {} is used in place of the operator's", name),
            spec_warning
        );
    }
}

}  // namespace

void warn_references(const node& pod_template, findings_collector& findings) {
    if (const json::value* spec = json::find(*pod_template.value, "spec")) {
        const kubernetes::place whole("", pod_template.pointer);
        reference_finder(pod_template, findings).walk(*spec, whole.member("spec"), {});
    }
}

void warn_references_in(const node& list, findings_collector& findings) {
    const auto texts = list.texts();
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const std::string_view reference = reference_in(texts[i]);
        if (!reference.empty()) {
            findings.warning(
                list.order,
                child_pointer(list.pointer, i),
                fmt::format(
                    "nothing expands {} here: the launcher passes it on as it is", reference
                ),
                spec_warning
            );
        }
    }
}

void check_rank_variables(
    const node& pod_template, const rank_rules& rules, findings_collector& findings
) {
    if (!pod_template.present()) {
        return;
    }
    std::size_t index = 0;
    const json::value* container =
        training_container(*pod_template.value, rules.training_names, index);
    const json::value* env = container == nullptr ? nullptr : json::find(*container, "env");
    for (rapidjson::SizeType i = 0; env != nullptr && env->IsArray() && i < env->Size(); ++i) {
        const std::string_view name = json::string_or_empty((*env)[i], "name");
        check_variable(
            name,
            json::string_or_empty((*env)[i], "value"),
            pod_template,
            fmt::format("{}/spec/containers/{}/env/{}/name", pod_template.pointer, index, i),
            rules,
            findings
        );
    }
}

void warn_idle(
    const node& parent,
    std::span<const std::string_view> names,
    std::string_view why,
    findings_collector& findings
) {
    for (const std::string_view name : names) {
        const node& idle = parent[name];
        if (idle.present()) {
            findings.warning(
                idle.order,
                idle.pointer,
                fmt::format("`{}` has no effect: {}", idle.written_as, why),
                field_ignored
            );
        }
    }
}

}  // namespace signalbox::core::schema
