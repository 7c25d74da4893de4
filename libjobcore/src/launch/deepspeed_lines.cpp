// SPDX-License-Identifier: Apache-2.0
#include "launch/deepspeed.hpp"
#include "launch/quoting.hpp"
#include "launch/type_pods.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace signalbox::core::launch {
namespace {

/// What starts a rank: the script with its arguments, and the option that says how.
struct start {
    std::string_view option;  ///< empty for a Python file
    const std::vector<std::string>* words = nullptr;
};

start start_of(const deepspeed_spec& launch) {
    if (!launch.module.empty()) {
        return {"--module", &launch.module};
    }
    if (!launch.exec.empty()) {
        return {"--no_python", &launch.exec};
    }
    return {"", &launch.python};
}

/// Script and arguments, those of a resume in place of the job's own.
std::vector<std::string> words_of(const start& s, const std::vector<std::string>* script_args) {
    if (s.words->empty()) {
        return {};
    }
    const auto& rest = script_args != nullptr ? *script_args : *s.words;
    std::vector<std::string> words{s.words->front()};
    words.insert(words.end(), rest.begin() + (script_args != nullptr ? 0 : 1), rest.end());
    return words;
}

/// Options of the runner that the launcher of one node knows too.
struct node_option {
    std::string_view name;
    bool takes_value;
};
constexpr std::array node_options{
    node_option{"--enable_each_rank_log", true},
    node_option{"--bind_cores_to_rank", false},
    node_option{"--bind_core_list", true},
    node_option{"--master_addr", true},
    node_option{"--master_port", true},
};

std::string option_name(std::string_view option) {
    std::string name(option.substr(0, option.find('=')));
    if (name.starts_with("--")) {
        std::replace(name.begin() + 2, name.end(), '-', '_');
    }
    return name;
}

/// Splits `other_args`: what the node's launcher knows, and the names of what it does not.
void split_options(
    const std::vector<std::string>& other_args,
    std::vector<std::string>& known,
    std::vector<std::string>& unknown
) {
    for (std::size_t i = 0; i < other_args.size(); ++i) {
        const std::string name = option_name(other_args[i]);
        const auto row = std::find_if(node_options.begin(), node_options.end(), [&](const auto& o) {
            return o.name == name;
        });
        if (row == node_options.end()) {
            if (name.starts_with("-") && name != "--no_ssh") {
                unknown.push_back(name);
            }
            continue;  // a value of an unknown option goes with it
        }
        const bool has_value = other_args[i].find('=') != std::string::npos;
        known.push_back(name + other_args[i].substr(std::min(name.size(), other_args[i].size())));
        if (row->takes_value && !has_value && i + 1 < other_args.size()) {
            known.push_back(other_args[++i]);
        }
    }
}

}  // namespace

bool wants_no_ssh(const deepspeed_spec& launch) {
    return launch.custom_command.empty() &&
           std::any_of(launch.other_args.begin(), launch.other_args.end(), [](const auto& option) {
               return option_name(option) == "--no_ssh";
           });
}

std::vector<std::string> options_without_effect(const std::vector<std::string>& other_args) {
    std::vector<std::string> known, unknown;
    split_options(other_args, known, unknown);
    return unknown;
}

std::string configuration_of(const std::vector<std::string>& script_args) {
    for (std::size_t i = 0; i < script_args.size(); ++i) {
        const std::string name = option_name(script_args[i]);
        if (name != "--deepspeed_config" && name != "--deepspeed") {
            continue;
        }
        const auto equals = script_args[i].find('=');
        if (equals != std::string::npos) {
            return script_args[i].substr(equals + 1);
        }
        if (i + 1 < script_args.size() && !script_args[i + 1].starts_with('-')) {
            return script_args[i + 1];
        }
    }
    return {};
}

std::vector<std::string> runner_line(const deepspeed_spec& launch, const runner_facts& facts) {
    const start how = start_of(launch);
    const auto words = words_of(how, facts.script_args);
    if (words.empty()) {
        return {};
    }
    std::vector<std::string> line{
        "deepspeed",
        "--hostfile=" + facts.hostfile,
        "--master_addr=" + facts.master_address,
        "--master_port=" + std::to_string(master_port),
    };
    if (facts.several) {
        line.emplace_back("--force_multi");  // decides that pdsh is used (LAUNCH.md 2.5)
    }
    if (!facts.ssh_check) {
        line.emplace_back("--no_ssh_check");  // the bootstrap has checked every host
    }
    if (!launch.local_rank) {
        line.emplace_back("--no_local_rank");
    }
    if (!how.option.empty()) {
        line.emplace_back(how.option);
    }
    if (launch.autotune != "none") {
        line.push_back("--autotuning=" + launch.autotune);
    }
    line.insert(line.end(), launch.other_args.begin(), launch.other_args.end());
    for (std::size_t i = 0; i < words.size(); ++i) {
        const auto place = i == 0 ? pdsh_place::script : pdsh_place::argument;
        line.push_back(facts.several ? pdsh_word(words[i], place) : words[i]);
    }
    return line;
}

std::vector<argument> node_line(
    const deepspeed_spec& launch,
    const std::string& master_address,
    const std::vector<std::string>* script_args
) {
    const start how = start_of(launch);
    std::vector<argument> line;
    line.push_back({"--world_info=", filling::world_info});
    line.push_back({"--node_rank=", filling::rank});
    line.push_back({"--master_addr=" + master_address});
    line.push_back({"--master_port=" + std::to_string(master_port)});
    if (!how.option.empty()) {
        line.push_back({std::string(how.option)});
    }
    if (!launch.local_rank) {
        line.push_back({"--no_local_rank"});
    }
    std::vector<std::string> known, unknown;
    split_options(launch.other_args, known, unknown);
    for (const auto& option : known) {
        line.push_back({container_word(option)});
    }
    for (const auto& word : words_of(how, script_args)) {
        line.push_back({container_word(word)});
    }
    return line;
}

}  // namespace signalbox::core::launch
