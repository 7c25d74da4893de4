// SPDX-License-Identifier: Apache-2.0
#include "api/bind/bind.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace signalbox::core::schema {
namespace {

/// One entry per type: the first counts (rules/shared.cpp warns of others).
template <class Entry, class Bind>
std::vector<Entry> bind_entries(const node& list, Bind bind) {
    std::vector<Entry> entries;
    for (const node& item : list.items) {
        Entry entry = bind(item);
        const bool known = std::any_of(entries.begin(), entries.end(), [&](const Entry& e) {
            return e.type == entry.type;
        });
        if (!known) {
            entries.push_back(std::move(entry));
        }
    }
    return entries;
}

/// A field of a scheduler, in whatever way its row is written; nothing: it is not set, and has no
/// default.
std::optional<std::string> bind_plain(const node& field) {
    if (!field.present() && field.row->fallback.empty()) {
        return std::nullopt;
    }
    if (field.row->type == value_type::integer) {
        return std::to_string(field.integer().value_or(0));
    }
    return field.text();
}

std::optional<gang_request> bind_scheduler(const node& scheduler) {
    const auto asked = std::ranges::find_if(scheduler.members, &node::present);
    if (asked == scheduler.members.end()) {
        return std::nullopt;
    }
    gang_request out{.name = std::string(asked->row->name)};
    for (const node& field : asked->members) {
        if (auto value = bind_plain(field); value && !value->empty()) {
            out.fields.emplace(field.row->name, *std::move(value));
        }
    }
    return out;
}

run_mode bind_run_mode(const node& mode) {
    run_mode bound;
    const node& debug = mode["debug"];
    const node& pause = mode["pause"];
    bound.debug = debug["enabled"].flag();
    bound.debug_replicas = bind_entries<debug_replica>(debug["replicaSpecs"], [](const node& n) {
        return debug_replica{
            .type = n["type"].text(),
            .skip_init_container = n["skipInitContainer"].flag(),
            .command = n["command"].texts(),
        };
    });
    bound.pause = pause["enabled"].flag();
    bound.resume_replicas = bind_entries<resume_replica>(pause["resumeSpecs"], [](const node& n) {
        return resume_replica{
            .type = n["type"].text(),
            .skip_init_container = n["skipInitContainer"].flag(),
            .command = n["command"].texts(),
            .args = n["args"].texts(),
        };
    });
    return bound;
}

elastic_config bind_elastic(const node& elastic) {
    elastic_config bound;
    bound.min_replicas = elastic["minReplicas"].int32();
    bound.max_replicas = elastic["maxReplicas"].int32();
    if (elastic["expectedReplicas"].present()) {
        bound.expected_replicas = elastic["expectedReplicas"].int32();
    }
    return bound;
}

std::optional<std::int32_t> bind_note(const node& elastic) {
    const node* enabled = elastic.find("enabled");
    const bool is_elastic = enabled != nullptr && enabled->flag();
    const auto noted = elastic["expectedReplicas"].integer();
    return is_elastic || !noted ? std::nullopt : std::optional(static_cast<std::int32_t>(*noted));
}

failure_rule bind_failure_rule(const node& n) {
    failure_rule rule;
    rule.action = *bind_choice<failure_action>(n["action"]);
    const node& codes = n["onExitCodes"];
    if (codes.present()) {
        exit_code_match match;
        match.container = codes["containerName"].text();
        match.among = codes["operator"].choice() == 0;
        for (const std::int64_t code : codes["values"].integers()) {
            match.values.push_back(static_cast<std::int32_t>(code));
        }
        rule.codes = std::move(match);
    }
    for (const node& item : n["onPodConditions"].items) {
        rule.conditions.push_back({item["type"].text(), item["status"].text()});
    }
    rule.reasons = n["onReason"].texts();
    rule.texts = n["onMessage"]["contains"].texts();
    return rule;
}

}  // namespace

std::vector<failure_rule> bind_failure_rules(const node& policy) {
    std::vector<failure_rule> rules;
    for (const node& item : policy["failureRules"].items) {
        rules.push_back(bind_failure_rule(item));
    }
    return rules;
}

job_spec bind_shared(const node& spec) {
    job_spec bound;
    if (const node* elastic = spec.find("elastic")) {
        bound.noted_replicas = bind_note(*elastic);
    }
    bound.scheduler = bind_scheduler(spec["scheduler"]);
    bound.mode = bind_run_mode(spec["runMode"]);
    bound.managed_by = spec["managedBy"].text();
    return bound;
}

run_policy bind_run_policy(const node& policy) {
    run_policy bound;
    bound.active_deadline_seconds = policy["activeDeadlineSeconds"].integer();
    if (policy["ttlSecondsAfterFinished"].present()) {
        bound.ttl_seconds_after_finished = policy["ttlSecondsAfterFinished"].int32();
    }
    bound.rules = bind_failure_rules(policy);
    const node& progress = policy["progress"];
    bound.reports = progress.present();
    bound.stall_after = progress["stallAfterSeconds"].int32();
    if (progress["firstReportAfterSeconds"].present()) {
        bound.first_report_after = progress["firstReportAfterSeconds"].int32();
    }
    return bound;
}

void bind_restarts(const node& spec, job_spec& bound) {
    const node& policy = spec["runPolicy"];
    bound.policy = bind_run_policy(policy);
    bound.policy.backoff_limit = policy["backoffLimit"].int32();
    bound.policy.clean_up = *bind_choice<clean_up_policy>(policy["cleanUpPolicy"]);
    bound.policy.scope = bind_choice<restart_scope>(policy["restartScope"]);
    bound.policy.failure = *bind_choice<failure_policy>(policy["failurePolicy"]);
    bound.policy.default_rules = policy["defaultFailureRules"].flag();
    bound.policy.reset_backoff_after = policy["resetBackoffAfterSeconds"].integer();
    bound.policy.on_stall = *bind_choice<stall_action>(policy["progress"]["stallAction"]);
    if (policy["maxRestartsWithoutProgress"].present()) {
        bound.policy.max_idle_restarts = policy["maxRestartsWithoutProgress"].int32();
    }
    bound.policy.avoid = *bind_choice<avoid_policy>(policy["avoidNodes"]["policy"]);
    bound.policy.avoid_seconds = policy["avoidNodes"]["forSeconds"].int32();
    if (spec["elastic"]["enabled"].flag()) {
        bound.elastic = bind_elastic(spec["elastic"]);
    }
}

std::string bind_json(const node& opaque) {
    return opaque.present() ? json::to_text(*opaque.value) : std::string();
}

}  // namespace signalbox::core::schema
