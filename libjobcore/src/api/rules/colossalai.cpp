// SPDX-License-Identifier: Apache-2.0
//
// Rules over several fields of a ColossalAIJob: BEHAVIOUR.md api 4.
#include "api/rules/colossalai_parts.hpp"
#include "api/rules/rules.hpp"
#include "api/tables/rule_words.hpp"
#include "api/walk/text.hpp"

#include <fmt/format.h>

#include <array>

namespace signalbox::core::schema {
namespace {

constexpr std::array<std::string_view, 2> first_shape{"launcher", "worker"};
constexpr std::array<std::string_view, 2> second_shape{"torchConfig", "replicaSpecs"};

/// The fields of a shape that are written.
std::vector<std::string_view> written_of(
    const node& spec, std::span<const std::string_view> shape
) {
    std::vector<std::string_view> names;
    for (const std::string_view name : shape) {
        if (is_written(spec[name])) {
            names.push_back(name);
        }
    }
    return names;
}

/// A shape must not be mixed with the other, and its main field is required.
void check_shape(const node& spec, findings_collector& findings) {
    const auto first = written_of(spec, first_shape);
    const auto second = written_of(spec, second_shape);
    if (!first.empty() && !second.empty()) {
        for (const std::string_view name : second) {
            findings.error(
                spec[name].order,
                spec[name].pointer,
                fmt::format(
                    "{}; `{}` is set beside {}", words::mixed_forms, name, enumerate(first, "and")
                )
            );
        }
        return;
    }
    const node& main = spec[second.empty() ? "worker" : "replicaSpecs"];
    if (!is_written(main)) {
        findings.error(
            spec.order,
            main.pointer,
            second.empty() ? fmt::format("{}; it must be an object", words::no_worker)
                           : "`replicaSpecs` is missing; it must be a list of objects"
        );
    }
}

void check_restart(const node& restart, findings_collector& findings) {
    const node& limit = restart["limit"];
    const node& policy = restart["policy"];
    if (limit.int32() > 0) {
        findings.error(
            limit.order,
            limit.pointer,
            fmt::format("{}, and this says {}", words::no_limit, *limit.integer())
        );
    }
    if (policy.present() && policy.text() != "Never") {
        findings.warning(
            policy.order,
            policy.pointer,
            "`policy` has no effect: a ColossalAIJob does not restart",
            field_ignored
        );
    }
}

void check_launcher_entry(const node& entry, findings_collector& findings) {
    const node& replicas = entry["replicas"];
    if (replicas.int32() != 1) {
        findings.error(
            replicas.order,
            replicas.pointer,
            fmt::format("{}, not {}", words::one_launcher, *replicas.integer())
        );
    }
    const node walked = walk_launcher_template(entry, findings);
    const node* used = launcher_container(walked);
    if (used == nullptr) {
        return;
    }
    for (const node& container : walked["spec"]["containers"].items) {
        if (&container != used) {
            findings.warning(
                entry["template"].order,
                container.pointer,
                "the launcher's pod has one container; this one has no effect",
                field_ignored
            );
        }
    }
}

void check_entries(const node& entries, findings_collector& findings) {
    std::array<const node*, 2> seen{};  // in order of the values of `type`
    bool unsure = !entries.present();
    for (const node& entry : entries.items) {
        const node& type = entry["type"];
        check_restart(entry["restartPolicy"], findings);
        if (!type.present()) {
            unsure = true;
            continue;
        }
        const node*& first = seen[*type.choice()];
        if (first != nullptr) {
            findings.error(
                type.order,
                type.pointer,
                fmt::format(
                    "{}; {} has type \"{}\" too", words::entry_types, first->pointer, type.text()
                )
            );
        } else {
            first = &entry;
        }
        if (type.text() == launcher_type) {
            check_launcher_entry(entry, findings);
        } else {
            check_template(
                entry["template"],
                {.training_names = worker_container, .wants_name = true},
                findings
            );
        }
    }
    if (!unsure && seen[1] == nullptr) {
        findings.error(entries.order, entries.pointer, std::string(words::entry_types));
    }
}

/// The program: a script that ends in `.py`, or `-m` and a module. Anything else makes the
/// launcher print a message and exit with 0.
void check_command(const node& command, bool debug, findings_collector& findings) {
    const std::vector<std::string> words = command.texts();
    if (words.empty()) {
        if (!debug && !command.broken()) {
            findings.error(
                command.order, command.pointer, fmt::format(words::no_script, command.row->name)
            );
        }
        return;
    }
    const bool module = words[0] == "-m";
    if (module ? words.size() < 2 || words[1].empty() : !words[0].ends_with(".py")) {
        findings.error(
            command.order,
            child_pointer(command.pointer, std::size_t{0}),
            fmt::format(
                "`{}` must begin with a script that ends in `.py`, or with `-m` and a module, not "
                "{}",
                command.row->name,
                module ? "with `-m` alone" : quoted(words[0])
            )
        );
    }
}

}  // namespace

void check_colossalai(const node& spec, findings_collector& findings) {
    const std::array<std::string, 2> types{std::string(launcher_type), std::string(worker_type)};
    const bool debug = spec["runMode"]["debug"]["enabled"].flag();
    const colossalai_parts parts = parts_of(spec);
    check_scheduler(spec["scheduler"], findings);
    check_run_mode(spec["runMode"], types, findings);
    check_failure_rules(spec["runPolicy"], findings);
    check_shape(spec, findings);
    if (is_written(*parts.command) || is_written(spec[parts.second ? "replicaSpecs" : "worker"])) {
        const bool unknown = spec[parts.second ? "torchConfig" : "worker"].broken();
        check_command(*parts.command, debug || unknown, findings);
    }
    check_torch_args(*parts.options, findings);
    warn_references_in(*parts.command, findings);
    warn_references_in(*parts.options, findings);
    if (!parts.second) {
        check_template(
            spec["worker"]["template"],
            {.training_names = worker_container, .wants_name = true},
            findings
        );
    }
    check_entries(spec["replicaSpecs"], findings);
    warn_size(
        spec["elastic"]["expectedReplicas"],
        colossalai_size(spec),
        "a ColossalAIJob is not elastic",
        findings
    );
}

void check_colossalai_pods(const node& spec, findings_collector& findings) {
    if (const node* worker = parts_of(spec).worker; worker != nullptr) {
        check_rank_variables(
            (*worker)["template"], {.training_names = worker_container, .launcher = true}, findings
        );
    }
}

std::optional<std::int64_t> colossalai_size(const node& spec) {
    constexpr std::int64_t launchers = 1;
    const node* worker = parts_of(spec).worker;
    const bool known = worker != nullptr && worker->present() && !(*worker)["replicas"].broken();
    return known ? std::optional(*(*worker)["replicas"].integer() + launchers) : std::nullopt;
}

std::vector<name_need> colossalai_name_needs(const node& spec) {
    std::vector<name_need> needs{{launcher_type, 1}};
    if (const node* worker = parts_of(spec).worker; worker != nullptr) {
        needs.push_back({worker_type, (*worker)["replicas"].int32()});
    }
    return needs;
}

}  // namespace signalbox::core::schema
