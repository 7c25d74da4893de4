// SPDX-License-Identifier: Apache-2.0
#include "cli/tree/command_tree.hpp"

#include <string_view>

namespace signalbox::op::cli {

namespace {

constexpr std::string_view program_name = "signalbox";
constexpr std::string_view plugin_prefix = "kubectl-";

std::string name_of_caller(const std::string& program) {
    const std::size_t slash = program.rfind('/');
    const std::string file = slash == std::string::npos ? program : program.substr(slash + 1);
    const bool plugin = file.starts_with(plugin_prefix);
    return plugin ? "kubectl " + std::string(program_name) : std::string(program_name);
}

}  // namespace

command_tree::command_tree(std::string program)
    : program_(std::move(program)), root_("", name_of_caller(program_)) {}

std::string command_tree::in_words_of_caller(std::string text) const {
    const std::string name = called();
    if (name == program_name) {
        return text;
    }
    const std::string call = std::string(program_name) + " ";
    for (std::size_t at = text.find(call); at != std::string::npos;) {
        const bool begins = at == 0 || text[at - 1] == ' ' || text[at - 1] == '`';
        text.replace(at, begins ? program_name.size() : 0, begins ? name : "");
        at = text.find(call, at + (begins ? name.size() : program_name.size()));
    }
    return text;
}

CLI::App& command_tree::add(
    CLI::App& parent,
    const std::string& name,
    const std::string& what,
    const std::string& footer,
    action call
) {
    CLI::App& command = *parent.add_subcommand(name, what);
    command.footer(in_words_of_caller(footer));
    // Called for the innermost command first.
    command.callback([this, call = std::move(call)] {
        if (!chosen_) {
            chosen_ = call;
        }
    });
    return command;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
    return app.get_subcommands([](const CLI::App* c) { return !c->get_group().empty(); });
}

}  // namespace signalbox::op::cli
