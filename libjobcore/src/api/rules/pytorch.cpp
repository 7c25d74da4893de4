// SPDX-License-Identifier: Apache-2.0
//
// Rules over several fields of a PyTorchTrainingJob: BEHAVIOUR.md api 3.
#include "api/rules/rules.hpp"
#include "api/tables/rule_words.hpp"
#include "api/tables/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace signalbox::core::schema {
namespace {

/// Names of the training container (BEHAVIOUR.md api 1.13).
constexpr std::array<std::string_view, 2> pytorch_containers{"pytorch", "python"};

void check_unique_types(const node& replicas, findings_collector& findings) {
    for (std::size_t i = 0; i < replicas.items.size(); ++i) {
        const node& type = replicas.items[i]["type"];
        const auto here = replicas.items.begin() + static_cast<std::ptrdiff_t>(i);
        const auto first = std::find_if(replicas.items.begin(), here, [&](const node& other) {
            return type.present() && other["type"].present() && other["type"].text() == type.text();
        });
        if (first != here) {
            findings.error(
                type.order,
                type.pointer,
                fmt::format(
                    "{}, \"{}\" is that of {} too", words::unique_type, type.text(), first->pointer
                )
            );
        }
    }
}

/// Some item must have a positive value in that field; quiet if one is broken.
void check_any_positive(
    const node& replicas,
    std::string_view name,
    std::string_view message,
    findings_collector& findings
) {
    const bool fine =
        replicas.items.empty() ||
        std::any_of(replicas.items.begin(), replicas.items.end(), [&](const node& r) {
            return r.broken() || r[name].broken() || r[name].integer().value_or(1) > 0;
        });
    if (!fine) {
        const node& first = replicas.items.front()[name];
        findings.error(first.order, first.pointer, std::string(message));
    }
}

/// 32 types of as many as each may have would break the bound of the status (BEHAVIOUR.md 4.16).
void check_sum(const node& replicas, findings_collector& findings) {
    std::int64_t sum = 0;
    for (const node& r : replicas.items) {
        sum += r.broken() || r["replicas"].broken() ? 0 : *r["replicas"].integer();
    }
    if (sum > max_replicas) {
        findings.error(
            replicas.order,
            replicas.pointer,
            fmt::format(words::too_many_replicas, max_replicas) + fmt::format(", not {}", sum)
        );
    }
}

void check_elastic_launch(const node& spec, findings_collector& findings) {
    const node& enabled = spec["elastic"]["enabled"];
    const node& torchrun = spec["torchrunConfig"];
    if (!enabled.flag()) {
        return;
    }
    if (!torchrun["enabled"].flag() && !torchrun["enabled"].broken()) {
        findings.error(enabled.order, enabled.pointer, std::string(words::elastic_needs_torchrun));
    }
    if (torchrun["rdzvBackend"].text() == "static") {
        const node& backend = torchrun["rdzvBackend"];
        findings.error(
            backend.order,
            backend.pointer,
            fmt::format("{}: it knows no changing set of pods", words::static_rendezvous)
        );
    }
}

void warn_weights(const node& spec, findings_collector& findings) {
    static constexpr std::array<std::string_view, 1> idle{"scalingWeight"};
    const node& enabled = spec["elastic"]["enabled"];
    if (enabled.flag() || enabled.broken()) {
        return;
    }
    for (const node& replica : spec["replicaSpecs"].items) {
        warn_idle(replica, idle, "`elastic.enabled` is not true, and `replicas` counts", findings);
    }
}

void check_tensorboard(const node& board, findings_collector& findings) {
    static constexpr std::array<std::string_view, 1> idle{"scheduler"};
    warn_idle(
        board,
        idle,
        "unless the cluster serves the kind TensorBoard, the operator makes a Deployment, which "
        "the default scheduler places",
        findings
    );
    const node& filesets = board["trainingLogFilesets"];
    const node& log_dir = board["logDir"];
    const bool has_filesets = filesets.broken() || (filesets.present() && !filesets.value->Empty());
    if (board.present() && !has_filesets && !log_dir.present() && !log_dir.broken()) {
        findings.error(board.order, board.pointer, std::string(words::board_needs_logs));
    }
}

/// The deciding pod is index 0 of the first type, whatever the types are called.
void warn_master(const node& replicas, findings_collector& findings) {
    for (std::size_t i = 0; i < replicas.items.size(); ++i) {
        const node& type = replicas.items[i]["type"];
        const node& count = replicas.items[i]["replicas"];
        if (!type.present() || type.text() != "master") {
            continue;
        }
        if (i > 0) {
            findings.warning(
                type.order,
                type.pointer,
                fmt::format(
                    "the first type decides about the job, \"{}\", not the one that is called "
                    "\"master\": put it first",
                    replicas.items.front()["type"].text()
                ),
                spec_warning
            );
        } else if (count.int32() != 1) {
            findings.warning(
                count.order,
                count.present() ? count.pointer : type.pointer,
                fmt::format(
                    "of {} replicas of type \"master\" the first one alone decides about the job",
                    count.int32()
                ),
                spec_warning
            );
        }
    }
}

std::int64_t minimum_replicas(const node& spec) {
    const node& minimum = spec["elastic"]["minReplicas"];
    const node& old_minimum = spec["torchrunConfig"]["minNodes"];
    return *(minimum.present() || !old_minimum.present() ? minimum : old_minimum).integer();
}

}  // namespace

void check_pytorch(const node& spec, findings_collector& findings) {
    const node& replicas = spec["replicaSpecs"];
    std::vector<std::string> types;
    for (const node& replica : replicas.items) {
        if (replica["type"].present()) {
            types.push_back(replica["type"].text());
        }
    }
    check_scheduler(spec["scheduler"], findings);
    check_run_mode(spec["runMode"], types, findings);
    check_failure_rules(spec["runPolicy"], findings);
    check_elastic(spec["elastic"], minimum_replicas(spec), pytorch_size(spec), findings);
    check_elastic_launch(spec, findings);
    warn_weights(spec, findings);
    check_torchrun(spec, findings);
    check_unique_types(replicas, findings);
    warn_master(replicas, findings);
    check_any_positive(
        replicas, "replicas", fmt::format("{}; all `replicas` are 0", words::no_replica), findings
    );
    check_sum(replicas, findings);
    check_any_positive(replicas, "scalingWeight", words::no_weight, findings);
    check_tensorboard(spec["tensorboardSpec"], findings);
    const template_rules rules{
        .training_names = pytorch_containers,
        .needs_args =
            spec["torchrunConfig"]["enabled"].flag() && !spec["runMode"]["debug"]["enabled"].flag(),
    };
    for (const node& replica : replicas.items) {
        check_template(replica["template"], rules, findings);
    }
}

void check_pytorch_pods(const node& spec, findings_collector& findings) {
    for (const node& replica : spec["replicaSpecs"].items) {
        const bool several =
            std::max<std::int64_t>(replica["replicas"].int32(), elastic_most(spec)) > 1;
        check_rank_variables(
            replica["template"],
            {.training_names = pytorch_containers,
             .launcher = spec["torchrunConfig"]["enabled"].flag(),
             .several = several},
            findings
        );
    }
}

std::optional<std::int64_t> pytorch_size(const node& spec) {
    const node& replicas = spec["replicaSpecs"];
    if (spec["elastic"]["enabled"].flag() || !replicas.present()) {
        return std::nullopt;
    }
    std::int64_t sum = 0;
    for (const node& r : replicas.items) {
        if (r.broken() || r["replicas"].broken()) {
            return std::nullopt;
        }
        sum += *r["replicas"].integer();
    }
    return sum;
}

std::vector<name_need> pytorch_name_needs(const node& spec) {
    const std::int64_t most = elastic_most(spec);
    std::vector<name_need> needs;
    for (const node& replica : spec["replicaSpecs"].items) {
        if (replica["type"].present()) {
            needs.push_back(
                {json::view(*replica["type"].value),
                 std::max<std::int64_t>(replica["replicas"].int32(), most)}
            );
        }
    }
    return needs;
}

}  // namespace signalbox::core::schema
