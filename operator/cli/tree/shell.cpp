// SPDX-License-Identifier: Apache-2.0
//
// What the shell and `man` want to know of the program.
#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "cli/tree/man_page.hpp"
#include "cli/tree/registry.hpp"

#include <algorithm>
#include <array>
#include <ostream>
#include <string_view>

namespace signalbox::op::cli {

namespace {

constexpr const char* completion_footer = R"(
The script asks the program for words, so that it fits every version: commands, options, their
values, names of jobs and namespaces of the cluster.

  bash   source <(signalbox completion bash)              in ~/.bashrc, or as a file in
                                                          /usr/share/bash-completion/completions
  zsh    signalbox completion zsh > "${fpath[1]}/_signalbox"
  fish   signalbox completion fish > ~/.config/fish/completions/signalbox.fish

For `kubectl signalbox` kubectl asks a program of the name kubectl_complete-signalbox in PATH: make it
a link to signalbox, as kubectl-signalbox is.)";

constexpr const char* man_footer = R"(
Examples:
  signalbox man | man -l -
  signalbox man > /usr/local/share/man/man1/signalbox.1)";

// Bash splits words at `=` too, and completes what is behind it: words are put together for the
// program, and what bash has already is taken off its answers.
constexpr std::string_view bash_script =
    R"(# bash completion for signalbox: source <(signalbox completion bash)
__signalbox_complete() {
    local word line answer typed have words=()
    for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
        if ((${#words[@]})) && [[ $word == "=" || ${words[-1]} == --*= ]]; then
            words[-1]+=$word
        else
            words+=("$word")
        fi
    done
    answer=$("${COMP_WORDS[0]}" __complete "${words[@]}" 2>/dev/null) || return
    typed=${words[-1]}
    have=${typed%"${typed##*=}"}
    COMPREPLY=()
    while IFS= read -r line; do
        line=${line%%$'\t'*}
        [[ $line == :[04] ]] || COMPREPLY+=("${line#"$have"}")
    done <<<"$answer"
    if [[ $answer == *:0 ]]; then
        local IFS=$'\n'
        COMPREPLY+=($(compgen -f -- "${typed##*=}"))
        compopt -o filenames
    fi
}
complete -F __signalbox_complete signalbox
)";

constexpr std::string_view zsh_script = R"(#compdef signalbox
# zsh completion for signalbox: signalbox completion zsh > "${fpath[1]}/_signalbox"
_signalbox() {
    local line answer word
    local -a candidates
    answer=$("${(Q)words[1]}" __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null) || return 1
    for line in ${(f)answer}; do
        [[ $line == :[04] ]] && continue
        word=${line%%$'\t'*}
        candidates+=("${word//:/\\:}${${line#$word}/$'\t'/:}")
    done
    (( $#candidates )) && _describe -t signalbox signalbox candidates
    [[ $answer == *:0 ]] && { compset -P '--*='; _files }
    return 0
}
if [[ $funcstack[1] == _signalbox ]]; then
    _signalbox "$@"
else
    compdef _signalbox signalbox
fi
)";

constexpr std::string_view fish_script =
    R"(# fish completion for signalbox: signalbox completion fish > ~/.config/fish/completions/signalbox.fish
function __signalbox_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l answer ($words[1] __complete $words[2..-1] $typed 2>/dev/null)
    or return
    set -l directive $answer[-1]
    set -e answer[-1]
    printf '%s\n' $answer
    if test "$directive" = :0
        __fish_complete_path (string replace -r -- '^--[^=]*=' '' $typed)
    end
end
complete -c signalbox -f -a '(__signalbox_complete)'
)";

struct shell_script {
    std::string_view shell;
    std::string_view text;
};
constexpr std::array scripts{
    shell_script{"bash", bash_script},
    shell_script{"zsh", zsh_script},
    shell_script{"fish", fish_script}};

struct completion_options {
    std::string shell;
};

int print_script(const completion_options& options, std::ostream& out, std::ostream&) {
    out << std::ranges::find(scripts, options.shell, &shell_script::shell)->text;
    return exit_ok;
}

void add_completion(command_tree& tree) {
    std::vector<std::string> shells;
    for (const shell_script& s : scripts) {
        shells.emplace_back(s.shell);
    }
    auto [completion, options] = tree.add(
        tree.root(),
        "completion",
        "Print the script that completes command lines in a shell",
        completion_footer,
        &print_script
    );
    completion.add_option("SHELL", options.shell, "bash, zsh or fish")
        ->check(CLI::IsMember(shells))
        ->required();
}

void add_man(command_tree& tree) {
    tree.add(
        tree.root(),
        "man",
        "Print the manual page",
        man_footer,
        [&tree](std::ostream& out, std::ostream&) {
            print_man_page(tree, out);
            return exit_ok;
        }
    );
}

void add_version(command_tree& tree) {
    tree.add(
        tree.root(),
        "version",
        "Version and commit",
        "",
        [](std::ostream& out, std::ostream&) { return version(out); }
    );
}

const registered_command shell_commands[] = {
    {"completion", 160, &add_completion, {{overview_part::for_shell, 10}}},
    {"man", 170, &add_man, {{overview_part::for_shell, 20}}},
    {"version", 180, &add_version},
};

}  // namespace

}  // namespace signalbox::op::cli
