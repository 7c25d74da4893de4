// SPDX-License-Identifier: Apache-2.0
//
// `worker.torchArgs` of a ColossalAIJob (BEHAVIOUR.md api 4.4): what can be handed to torchrun
// through the launcher, which takes `key=value` and `key` only.
#include "api/rules/launcher_options.hpp"
#include "api/rules/rules.hpp"

#include <algorithm>
#include <array>

namespace signalbox::core::schema {
namespace {

/// The launcher gives these itself; given twice it would be torchrun's to choose.
constexpr std::array launcher_reserved{
    reserved_option{"--nnodes", "the number of workers"},
    reserved_option{"--node-rank", "the worker's index"},
    reserved_option{"--nproc-per-node", "`procPerWorker`"},
};

/// What follows an option without `=`: its value, unless it is an option itself.
bool is_value(std::string_view argument) {
    return !argument.starts_with('-');
}

/// The launcher neither quotes names nor can it hand on those with a comma.
bool is_name(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '_';
    });
}

/// Why the argument cannot be handed on; empty if it can.
std::string_view obstacle(std::string_view argument, bool after_option) {
    const auto equals = argument.find('=');
    if (std::any_of(argument.begin(), argument.end(), [](char c) {
            return static_cast<unsigned char>(c) < 0x20;
        })) {
        return "the launcher hands on no control characters";
    }
    if (is_value(argument)) {
        return !after_option      ? "it is neither an option nor the value of one"
               : argument.empty() ? "the launcher hands on no empty values"
                                  : std::string_view();
    }
    if (!argument.starts_with("--")) {
        return "the launcher hands on long options only";
    }
    if (!is_name(argument.substr(2, equals == std::string_view::npos ? equals : equals - 2))) {
        return "an option's name consists of letters, digits, `-` and `_`";
    }
    return equals + 1 == argument.size() ? "the launcher hands on no empty values"
                                         : std::string_view();
}

}  // namespace

void check_torch_args(const node& options, findings_collector& findings) {
    const std::vector<std::string> arguments = options.texts();
    bool after_option = false;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string_view argument = arguments[i];
        const std::string_view option = long_option(argument, torchrun_options());
        if (const auto why = obstacle(argument, after_option); !why.empty()) {
            refuse_option(options, i, why, findings);
        }
        if (option == "--module" || option == "--no-python") {
            refuse_option(
                options, i, "`-m` before the module in the command is for this", findings
            );
        }
        refuse_reserved(options, i, option, launcher_reserved, findings);
        after_option = argument.starts_with("--") && argument.find('=') == std::string_view::npos;
    }
}

}  // namespace signalbox::core::schema
