// SPDX-License-Identifier: Apache-2.0
//
// Parses the command line, and complains about mistakes in it.
#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "cli/print_line.hpp"
#include "cli/tree/completion.hpp"
#include "cli/tree/registry.hpp"
#include "cli/tree/shared_options.hpp"

#include <jobcore/schema.hpp>

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>
#include <string_view>

namespace signalbox::op::cli {

namespace {

std::string overview() {
    return fmt::format(
        R"(Runs distributed training jobs on Kubernetes: DeepSpeed, PyTorch (plain and torchrun), ColossalAI.

Without a cluster:  {}
With a cluster:     {}

For the shell:      {})",
        names_under(overview_part::without_cluster),
        names_under(overview_part::with_cluster),
        names_under(overview_part::for_shell)
    );
}

constexpr const char* overview_footer = R"(
Try it, with no cluster and in a few seconds:
  signalbox dev --apply examples/manifests/ddp.yaml --until-finished

`signalbox COMMAND --help` says more about each.
Exit codes: 0 done, 1 done with a failure as the result, 2 refused (command line, file, setting).)";

/// Says that there is no such command or option, and which is near, else which there are.
std::string unknown_word(
    std::string_view what, const std::string& word, const std::vector<std::string>& known
) {
    const std::vector<std::string_view> candidates(known.begin(), known.end());
    const std::string_view near = core::nearest_name(word, candidates);
    return near.empty()
               ? fmt::format(
                     "there is no {} `{}`; there are: {}", what, word, fmt::join(known, ", ")
                 )
               : fmt::format("there is no {} `{}`; did you mean `{}`?", what, word, near);
}

/// What is wrong in words of ours where CLI11 names no command and no option.
std::string problem(
    const CLI::App& root,
    const CLI::App& about,
    const CLI::ParseError& error,
    const std::vector<std::string>& words
) {
    const std::vector<std::string> unknown = root.remaining(true);
    const auto first = std::ranges::find_first_of(words, unknown);
    std::vector<std::string> commands;
    for (const CLI::App* c : commands_of(about)) {
        commands.push_back(c->get_name());
    }
    if (first == words.end()) {
        return about.get_parent() == nullptr && words.empty()
                   ? fmt::format("a command is missing: {}", fmt::join(commands, ", "))
                   : error.what();
    }
    if (!first->starts_with('-')) {
        return commands.empty() ? fmt::format("`{}` is not expected", *first)
                                : unknown_word("command", *first, commands);
    }
    std::vector<std::string> options;
    for (const CLI::Option* o : about.get_options()) {
        for (const std::string& name : o->get_lnames()) {
            options.push_back("--" + name);
        }
    }
    const std::string option = first->substr(0, first->find('='));
    if (about.get_option_no_throw(option) != nullptr) {
        return fmt::format("`{}` belongs after the command", option);
    }
    const bool may_be_programs = about.get_option_no_throw(program_arguments) != nullptr;
    return unknown_word("option", option, options) +
           (may_be_programs ? "; those of a program come behind `--`" : "");
}

void complain(
    const command_tree& tree,
    const CLI::ParseError& error,
    const std::vector<std::string>& words,
    std::ostream& err
) {
    std::string command = tree.called();
    std::string parent;
    const CLI::App* about = &tree.root();
    for (auto chosen = about->get_subcommands(); !chosen.empty();) {
        about = chosen.front();
        parent = command;
        command += " " + about->get_name();
        chosen = about->get_subcommands();
    }
    print_line(err, "{}: {}", command, problem(tree.root(), *about, error, words));
    err << '\n';
    const std::string help = about->help(parent);
    const std::size_t usage = help.find("Usage:");
    const std::string from_usage = usage == std::string::npos ? help : help.substr(usage);
    print_line(err, "{}", from_usage.substr(0, from_usage.find('\n')));
    print_line(err, "`{} --help` says more.", command);
}

}  // namespace

int run(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
    command_tree tree(argc > 0 ? argv[0] : "signalbox");
    CLI::App& root = tree.root();
    root.description(overview());
    root.footer(tree.in_words_of_caller(overview_footer));
    root.require_subcommand(1);
    root.add_flag_callback(
        "--version",
        [&out] {
            version(out);
            throw CLI::Success();
        },
        "Version and commit"
    );
    root.get_formatter()->column_width(34);
    add_commands(tree);
    if (const auto asked = words_to_complete(argc, argv)) {
        complete(tree, *asked, out);
        return exit_ok;
    }
    const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    try {
        root.parse(argc, argv);
    } catch (const CLI::Success& asked) {
        return root.exit(asked, out, err);
    } catch (const CLI::ParseError& error) {
        complain(tree, error, words, err);
        return exit_refused;
    }
    return tree.chosen()(out, err);
}

}  // namespace signalbox::op::cli
