// SPDX-License-Identifier: Apache-2.0
#include "engine/rules/failure_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <tuple>

namespace signalbox::core::engine {
namespace {

/// Words of drivers and libraries for a device or a link that is broken, as they stand in logs.
struct default_rule {
    std::string_view name;
    std::array<std::string_view, 4> texts;  ///< empty ones are none
};
constexpr std::array default_rules{
    default_rule{
        "EccError", {"uncorrectable ECC error encountered", "CUDA_ERROR_ECC_UNCORRECTABLE"}},
    default_rule{"NvlinkError", {"uncorrectable NVLink error detected"}},
    default_rule{
        "GpuLost",
        {"GPU has fallen off the bus",
         "NVRM: Xid",
         "Unable to determine the device handle for GPU",
         "GPU is lost"}},
    default_rule{
        "LinkError",
        {"Got completion from peer", "Call to ibv_modify_qp failed", "Got async fatal event"}},
};

bool contains(std::string_view text, std::string_view part) {
    return !part.empty() && text.find(part) != text.npos;
}

/// What was said of the failure: of a pod that is gone what is on record.
class statement {
public:
    statement(const context& c, const loss& l)
        : l_(l),
          training_(
              l.pod == nullptr
                  ? nullptr
                  : training_container(*l.pod, c.view.types[l.type].plan->training_container)
          ) {}

    bool has_text(std::string_view text) const {
        if (l_.pod == nullptr) {
            return contains(l_.message, text);
        }
        return (training_ != nullptr && contains(training_->message, text)) ||
               contains(l_.pod->message, text) || contains(l_.pod->disruption_message, text);
    }

    bool has_reason(std::string_view reason) const {
        return l_.reason == reason || (training_ != nullptr && training_->reason == reason) ||
               (l_.pod != nullptr &&
                (l_.pod->reason == reason || l_.pod->disruption_reason == reason));
    }

    bool has_condition(const pod_condition_match& wanted) const {
        if (l_.pod == nullptr) {
            return false;
        }
        const bool taken = l_.pod->disruption_target && wanted.type == "DisruptionTarget" &&
                           wanted.status == "True";
        const std::string line = '\n' + wanted.type + '=' + wanted.status + '\n';
        return taken || contains('\n' + l_.pod->conditions.str(), line);
    }

    bool has_code(const exit_code_match& wanted) const {
        const auto code = code_of(wanted.container);
        if (!code) {
            return false;
        }
        const bool among = std::ranges::find(wanted.values, *code) != wanted.values.end();
        return wanted.among ? among : !among && *code != 0;
    }

private:
    std::optional<std::int32_t> code_of(std::string_view container) const {
        if (container.empty() || (training_ != nullptr && training_->name == container)) {
            return l_.exit_code;
        }
        if (l_.pod == nullptr) {
            return std::nullopt;
        }
        const auto& all = l_.pod->containers;
        const auto it = std::ranges::find(all, container, &container_record::name);
        return it == all.end() || it->state != container_state::terminated
                   ? std::nullopt
                   : std::optional(it->exit_code);
    }

    const loss& l_;
    const container_record* training_;
};

bool holds(const failure_rule& rule, const statement& said) {
    const auto any = [](const auto& list, auto has) {
        return list.empty() || std::ranges::any_of(list, has);
    };
    return (!rule.codes || said.has_code(*rule.codes)) &&
           any(rule.conditions, [&](const auto& wanted) { return said.has_condition(wanted); }) &&
           any(rule.reasons, [&](const auto& wanted) { return said.has_reason(wanted); }) &&
           any(rule.texts, [&](const auto& wanted) { return said.has_text(wanted); });
}

/// A disruption decides of what it is among (5.4); else the first failure, before those whose
/// messages follow from another one's.
const loss* failure_that_counts(const context& c, const health& h) {
    instant first = instant::max();
    for (const loss& l : h.losses) {
        first = l.disrupted || l.unreachable() ? first : std::min(first, l.end);
    }
    const loss* out = nullptr;
    const auto order = [&](const loss& l) {
        const bool late = !l.disrupted && l.end - first > c.in.policy.first_failure_window;
        return std::tuple(!l.disrupted, late, l.secondary_by_message, l.end, l.type, l.index);
    };
    for (const loss& l : h.losses) {
        if (l.type != no_type && !l.unreachable() && (out == nullptr || order(l) < order(*out))) {
            out = &l;
        }
    }
    return out;
}

}  // namespace

std::optional<matched_rule> find_failure_rule(const context& c, const health& h) {
    const run_policy& run = c.in.plan.run;
    const bool asks_ours = run.default_rules && c.in.plan.scope != scope_rule::no_restart;
    const loss* l = run.rules.empty() && !asks_ours ? nullptr : failure_that_counts(c, h);
    if (l == nullptr) {
        return std::nullopt;
    }
    const statement said(c, *l);
    for (std::size_t i = 0; i < run.rules.size(); ++i) {
        if (holds(run.rules[i], said)) {
            return matched_rule{
                fmt::format("failureRules/{}", i), run.rules[i].action, /*by_default=*/false, l};
        }
    }
    for (const default_rule& rule : default_rules) {
        if (asks_ours && !l->disrupted &&
            std::ranges::any_of(rule.texts, [&](auto text) { return said.has_text(text); })) {
            return matched_rule{
                fmt::format("default/{}", rule.name),
                failure_action::restart_elsewhere,
                /*by_default=*/true,
                l};
        }
    }
    return std::nullopt;
}

}  // namespace signalbox::core::engine
