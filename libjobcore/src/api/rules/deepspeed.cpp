// SPDX-License-Identifier: Apache-2.0
//
// Rules over several fields of a DeepSpeedJob: BEHAVIOUR.md api 2.
#include "api/rules/rules.hpp"
#include "api/tables/rule_words.hpp"
#include "api/walk/text.hpp"
#include "json/resources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace signalbox::core::schema {
namespace {

constexpr std::array<std::string_view, 1> deepspeed_containers{"worker"};
constexpr std::array<std::string_view, 4> reserved_paths{
    "/root/.ssh", "/t9k/hostfile", "/job/hostfile", "/root/.deepspeed_env"};

/// Fields that `customCommand` makes idle.
constexpr std::array<std::string_view, 4> idle_fields{"localRank", "autotune", "run", "otherArgs"};

void warn_idle_fields(const node& config, findings_collector& findings) {
    warn_idle(config, idle_fields, "`customCommand` is set", findings);
}

/// Exactly one way to run the program.
void check_program(const node& config, findings_collector& findings) {
    const node& run = config["run"];
    const node* first = nullptr;
    for (const node& way : run.members) {
        if (way.broken() || run.broken() || config.broken()) {
            return;
        }
        if (!way.present() || way.value->Empty()) {
            continue;
        }
        if (first != nullptr) {
            findings.error(
                way.order,
                way.pointer,
                fmt::format(
                    "`{}` must not be set beside `{}`: {}",
                    way.written_as,
                    first->written_as,
                    words::one_program
                )
            );
        }
        first = first == nullptr ? &way : first;
    }
    if (first == nullptr) {
        findings.error(
            run.order,
            run.pointer,
            fmt::format("the training program is missing: {}", words::one_program)
        );
    }
}

void check_autotune(const node& config, findings_collector& findings) {
    const node& autotune = config["autotune"];
    const node& script = config["run"]["python"];
    const bool has_script = script.broken() || (script.present() && !script.value->Empty());
    if (autotune.present() && autotune.text() != "none" && !has_script) {
        findings.error(autotune.order, autotune.pointer, std::string(words::autotune_needs_script));
    }
}

void check_config(const node& config, bool debug, findings_collector& findings) {
    if (!config["customCommand"].text().empty()) {
        warn_idle_fields(config, findings);
        return;
    }
    check_deepspeed_args(config, findings);
    if (!debug && !config["customCommand"].broken()) {
        check_program(config, findings);
        check_autotune(config, findings);
    }
}

void warn_slots(const node& slots, const node& pod_template, findings_collector& findings) {
    std::size_t index = 0;
    const json::value* container =
        pod_template.present()
            ? training_container(*pod_template.value, deepspeed_containers, index)
            : nullptr;
    if (!slots.present() || container == nullptr) {
        return;
    }
    // Without accelerators the processes train on CPUs, as many as the user says.
    const std::int64_t accelerators = json::accelerators(*container);
    if (accelerators > 0 && *slots.integer() > accelerators) {
        findings.warning(
            slots.order,
            slots.pointer,
            fmt::format(
                "`slotsPerWorker` should be at most the number of accelerators of the training "
                "container, {}, not {}",
                accelerators,
                *slots.integer()
            ),
            spec_warning
        );
    }
}

void warn_replicas(const node& spec, findings_collector& findings) {
    const node& replicas = spec["worker"]["replicas"];
    const node& expected = spec["elastic"]["expectedReplicas"];
    if (spec["elastic"]["enabled"].flag() && expected.present() && replicas.present() &&
        replicas.integer() != expected.integer()) {
        findings.warning(
            replicas.order,
            replicas.pointer,
            fmt::format(
                "`replicas` has no effect: elastic training has `expectedReplicas`, {}",
                *expected.integer()
            ),
            field_overridden
        );
    }
}

}  // namespace

void check_deepspeed(const node& spec, findings_collector& findings) {
    const std::array<std::string, 1> types{"worker"};
    const node& elastic = spec["elastic"];
    const node& worker = spec["worker"];
    check_scheduler(spec["scheduler"], findings);
    check_run_mode(spec["runMode"], types, findings);
    check_failure_rules(spec["runPolicy"], findings);
    check_elastic(elastic, elastic["minReplicas"].int32(), deepspeed_size(spec), findings);
    check_config(spec["config"], spec["runMode"]["debug"]["enabled"].flag(), findings);
    check_template(
        worker["template"],
        {.training_names = deepspeed_containers, .reserved_paths = reserved_paths},
        findings
    );
    warn_slots(spec["config"]["slotsPerWorker"], worker["template"], findings);
    warn_replicas(spec, findings);
    const node& run = spec["config"]["run"];
    for (const node* list :
         {&run["python"], &run["module"], &run["exec"], &spec["config"]["otherArgs"]}) {
        warn_references_in(*list, findings);
    }
}

void check_deepspeed_pods(const node& spec, findings_collector& findings) {
    check_rank_variables(
        spec["worker"]["template"],
        {.training_names = deepspeed_containers, .launcher = true},
        findings
    );
}

std::optional<std::int64_t> deepspeed_size(const node& spec) {
    const node& worker = spec["worker"];
    const bool known =
        !spec["elastic"]["enabled"].flag() && worker.present() && !worker["replicas"].broken();
    return known ? worker["replicas"].integer() : std::nullopt;
}

std::vector<name_need> deepspeed_name_needs(const node& spec) {
    return {
        {"worker", std::max<std::int64_t>(spec["worker"]["replicas"].int32(), elastic_most(spec))}};
}

}  // namespace signalbox::core::schema
