// SPDX-License-Identifier: Apache-2.0
#include "cli/tree/man_page.hpp"

#include "cli/commands.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <sstream>
#include <string_view>

namespace signalbox::op::cli {

namespace {

/// Text as roff has to have it: nothing of it is a request or an escape, and words in backquotes
/// are bold.
std::string roff(std::string_view text) {
    std::string out;
    bool bold = false;
    for (const char c : text) {
        const bool at_start = out.empty() || out.back() == '\n';
        switch (c) {
            case '\\':
                out += "\\e";
                break;
            case '-':
                out += "\\-";
                break;
            case '`':
                bold = !bold;
                out += bold ? "\\fB" : "\\fR";
                break;
            case '.':
            case '\'':
                out += at_start ? "\\&" : "";
                [[fallthrough]];
            default:
                out += c;
        }
    }
    return bold ? out + "\\fR" : out;
}

bool is_laid_out(std::string_view line) {
    return line.starts_with("  ");
}

/// A help text: indented lines stay as they are, others become paragraphs.
void print_text(std::string_view text, std::ostream& out) {
    bool literal = false;
    bool paragraph = false;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (is_laid_out(line) != literal) {
            literal = !literal;
            out << (literal ? ".PP\n.nf\n" : ".fi\n");
            paragraph = false;
        }
        if (line.empty()) {
            paragraph = false;
            continue;
        }
        if (!literal && !paragraph) {
            out << ".PP\n";
            paragraph = true;
        }
        fmt::print(out, "{}\n", roff(line));
    }
    if (literal) {
        out << ".fi\n";
    }
}

/// `-n`, `--namespace` or the name of a positional, in bold.
std::string option_names(const CLI::Option& option) {
    std::string out;
    const auto add = [&](const std::string& name) {
        out += (out.empty() ? "" : ", ") + ("\\fB" + roff(name) + "\\fR");
    };
    for (const std::string& name : option.get_snames()) {
        add("-" + name);
    }
    for (const std::string& name : option.get_lnames()) {
        add("--" + name);
    }
    if (out.empty()) {
        add(option.get_name(true, false));
    }
    return out;
}

/// What stands for its value, with the default where there is one: `TIME [2s]`.
std::string option_value(const CLI::Option& option) {
    if (!option.get_option_text().empty()) {
        return option.get_option_text();
    }
    if (option.get_items_expected_max() == 0) {
        return "";
    }
    const std::string& standard = option.get_default_str();
    return option.get_type_name() + (standard.empty() ? "" : fmt::format(" [{}]", standard));
}

void print_options(const CLI::App& command, std::ostream& out) {
    for (const CLI::Option* option : command.get_options()) {
        const std::string value = option_value(*option);
        fmt::print(
            out,
            ".TP\n{}{}\n{}\n",
            option_names(*option),
            value.empty() ? "" : " \\fI" + roff(value) + "\\fR",
            roff(option->get_description())
        );
    }
}

void print_command(const CLI::App& command, const std::string& name, std::ostream& out) {
    fmt::print(out, ".SS \"{}\"\n{}.\n", roff(name), roff(command.get_description()));
    print_options(command, out);
    print_text(command.get_footer(), out);
    for (const CLI::App* below : commands_of(command)) {
        print_command(*below, name + " " + below->get_name(), out);
    }
}

}  // namespace

void print_man_page(const command_tree& tree, std::ostream& out) {
    std::ostringstream version_line;
    version(version_line);
    std::string number = version_line.str();
    number.resize(number.find_last_not_of('\n') + 1);
    const CLI::App& root = tree.root();
    fmt::print(out, ".TH SIGNALBOX 1 \"\" \"{}\" \"User Commands\"\n", roff(number));
    out << ".SH NAME\nsignalbox \\- runs distributed training jobs on Kubernetes\n"
           ".SH SYNOPSIS\n.B signalbox\n.I COMMAND\n[\\fIOPTION\\fR...]\n"
           ".br\n.B kubectl signalbox\n.I COMMAND\n[\\fIOPTION\\fR...]\n"
           ".SH DESCRIPTION\n";
    print_text(root.get_description(), out);
    print_text(root.get_footer(), out);
    out << ".SH OPTIONS\n";
    print_options(root, out);
    out << ".SH COMMANDS\n";
    for (const CLI::App* command : commands_of(root)) {
        print_command(*command, command->get_name(), out);
    }
    out << ".SH ENVIRONMENT\n"
           ".TP\n.B KUBECONFIG\nWhere the cluster is, for commands that need one: see\n"
           ".BR kubectl (1).\n"
           ".TP\n.B NO_COLOR\nIf it is not empty, no colours are shown on a terminal.\n"
           ".SH SEE ALSO\n.BR kubectl (1)\n";
}

}  // namespace signalbox::op::cli
