// SPDX-License-Identifier: Apache-2.0
//
// `config.otherArgs` (BEHAVIOUR.md api 2.4): options of the launcher `deepspeed` that are ours.
#include "api/rules/launcher_options.hpp"
#include "api/rules/rules.hpp"
#include "api/walk/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace signalbox::core::schema {
namespace {

/// Every long option of DeepSpeed's runner, to know which abbreviations are unambiguous.
constexpr std::array<std::string_view, 29> runner_options{
    "--autotuning",
    "--bind-core-list",
    "--bind-cores-to-rank",
    "--elastic-training",
    "--enable-each-rank-log",
    "--exclude",
    "--force-multi",
    "--help",
    "--hostfile",
    "--include",
    "--launcher",
    "--launcher-args",
    "--log-level",
    "--master-addr",
    "--master-port",
    "--max-elastic-nodes",
    "--min-elastic-nodes",
    "--module",
    "--no-local-rank",
    "--no-python",
    "--no-ssh",
    "--no-ssh-check",
    "--node-rank",
    "--num-accelerators",
    "--num-gpus",
    "--num-nodes",
    "--quiet",
    "--save-pid",
    "--ssh-port",
};

constexpr std::array deepspeed_reserved{
    reserved_option{"--hostfile", "the number of workers"},
    reserved_option{"--no-local-rank", "`config.localRank`"},
    reserved_option{"--module", "`config.run.module`"},
    reserved_option{"--no-python", "`config.run.exec`"},
    reserved_option{"--autotuning", "`config.autotune`"},
    reserved_option{"--ssh-port", "the operator"},
    reserved_option{"--node-rank", "the replica's index"},
};

/// Options that choose among the hosts and slots that the operator lists.
constexpr std::array<std::string_view, 5> slot_options{
    "--exclude", "--include", "--num-accelerators", "--num-gpus", "--num-nodes"};

/// The elastic agent of DeepSpeed: broken since 0.14.4, removed in 0.19.8.
constexpr std::array<std::string_view, 3> elastic_options{
    "--elastic-training", "--max-elastic-nodes", "--min-elastic-nodes"};

std::string_view deepspeed_option(std::string_view argument) {
    // -H takes its value joined too.
    return argument.starts_with("-H") ? std::string_view("--hostfile")
                                      : long_option(argument, runner_options);
}

/// The value of the option at `i`: after `=`, else the next argument.
std::string value_of(const std::vector<std::string>& arguments, std::size_t i) {
    const auto equals = arguments[i].find('=');
    if (equals != std::string::npos) {
        return arguments[i].substr(equals + 1);
    }
    return i + 1 < arguments.size() ? arguments[i + 1] : std::string();
}

/// The launcher takes the names of its back ends in any case.
bool is_pdsh(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return text == "pdsh";
}

}  // namespace

void check_deepspeed_args(const node& config, findings_collector& findings) {
    const node& list = config["otherArgs"];
    const std::vector<std::string> arguments = list.texts();
    bool without_ssh = false;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string_view option = deepspeed_option(arguments[i]);
        without_ssh = without_ssh || option == "--no-ssh";
        refuse_reserved(list, i, option, deepspeed_reserved, findings);
        if (std::find(slot_options.begin(), slot_options.end(), option) != slot_options.end()) {
            findings.warning(
                list.order,
                child_pointer(list.pointer, i),
                fmt::format(
                    "`{}` chooses among the workers and slots of this job: what it leaves out is "
                    "held and stays idle; `worker.replicas` and `slotsPerWorker` say how many "
                    "there are",
                    arguments[i].substr(0, arguments[i].find('='))
                ),
                spec_warning
            );
        }
        if (option == "--launcher" && !is_pdsh(value_of(arguments, i))) {
            refuse_option(list, i, "the launcher must be pdsh", findings);
        }
        if (std::find(elastic_options.begin(), elastic_options.end(), option) !=
            elastic_options.end()) {
            refuse_option(
                list,
                i,
                "no DeepSpeed from 0.14.4 on trains with it, and 0.19.8 has it no more; "
                "`spec.elastic` is elastic training",
                findings
            );
        }
    }
    const node& autotune = config["autotune"];
    if (without_ssh && autotune.present() && autotune.text() != "none") {
        findings.error(
            autotune.order,
            autotune.pointer,
            "`autotune` needs ssh, and `otherArgs` contains `--no_ssh`"
        );
    }
}

}  // namespace signalbox::core::schema
