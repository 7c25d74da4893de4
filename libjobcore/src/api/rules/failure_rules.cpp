// SPDX-License-Identifier: Apache-2.0
//
// `runPolicy.failureRules` (BEHAVIOUR.md 13.3).
#include "api/rules/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace signalbox::core::schema {
namespace {

/// Conditions that every pod has, whatever becomes of it: no one keeps them.
constexpr std::array<std::string_view, 5> common_conditions{
    "PodScheduled", "Initialized", "ContainersReady", "Ready", "PodReadyToStartContainers"};

void check_conditions(const node& list, findings_collector& findings) {
    for (const node& item : list.items) {
        const node* type = item.find("type");
        const bool common =
            type != nullptr && type->present() &&
            std::ranges::find(common_conditions, type->text()) != common_conditions.end();
        if (common) {
            findings.warning(
                type->order,
                type->pointer,
                fmt::format(
                    "every pod has the condition {}, and it is not looked at: this never holds",
                    type->text()
                ),
                field_ignored
            );
        }
    }
}

/// A text that every message has would make the rule match whatever fails.
void check_texts(const node& list, findings_collector& findings) {
    const std::vector<std::string> texts = list.texts();
    const auto empty = std::ranges::find(texts, std::string());
    if (empty != texts.end()) {
        findings.error(
            list.order,
            fmt::format("{}/{}", list.pointer, empty - texts.begin()),
            fmt::format("`{}` must have no empty text: every message has it", list.written_as)
        );
    }
}

bool asks_for_something(const node& rule) {
    const auto has = [&](std::string_view name) {
        const node& n = rule[name];
        return n.broken() || (n.present() && (!n.value->IsArray() || !n.value->Empty()));
    };
    return has("onExitCodes") || has("onPodConditions") || has("onReason") || has("onMessage");
}

}  // namespace

void check_failure_rules(const node& policy, findings_collector& findings) {
    for (const node& rule : policy["failureRules"].items) {
        if (rule.broken()) {
            continue;
        }
        if (!asks_for_something(rule)) {
            findings.error(
                rule.order,
                rule.pointer,
                "a failure rule must have `onExitCodes`, `onPodConditions`, `onReason` or "
                "`onMessage`"
            );
        }
        check_conditions(rule["onPodConditions"], findings);
        check_texts(rule["onReason"], findings);
        check_texts(rule["onMessage"]["contains"], findings);
    }
}

}  // namespace signalbox::core::schema
