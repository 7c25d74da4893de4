// SPDX-License-Identifier: Apache-2.0
#include "cli/tree/completion.hpp"

#include "cli/cluster_words.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <functional>
#include <ostream>
#include <string_view>

namespace signalbox::op::cli {

namespace {

constexpr std::string_view request = "__complete";
constexpr std::string_view name_for_kubectl = "kubectl_complete-signalbox";

/// What of a command line says which cluster is meant.
struct asked_cluster {
    cluster_options cluster;
    std::string ns;
};

/// Where a command line stands before its last word.
struct position {
    const CLI::App* command = nullptr;
    const CLI::Option* waits = nullptr;  ///< the option whose value comes next
    std::size_t positionals = 0;         ///< given to `command`
    asked_cluster where;
};

bool takes_value(const CLI::Option& option) {
    return option.get_items_expected_max() > 0;
}

void note_value(const CLI::Option& option, const std::string& value, asked_cluster& to) {
    const std::array<std::pair<std::string_view, std::string*>, 3> places{
        {{"--kubeconfig", &to.cluster.kubeconfig},
         {"--context", &to.cluster.context},
         {"--namespace", &to.ns}}};
    for (const auto& [name, place] : places) {
        if (option.check_lname(std::string(name.substr(2)))) {
            *place = value;
        }
    }
}

position stand(const CLI::App& root, const std::vector<std::string>& words) {
    position at;
    at.command = &root;
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
        const std::string& word = words[i];
        if (at.waits != nullptr) {
            note_value(*at.waits, word, at.where);
            at.waits = nullptr;
            continue;
        }
        if (word.starts_with('-') && word.size() > 1) {
            const std::size_t equals = word.find('=');
            const CLI::Option* option = at.command->get_option_no_throw(word.substr(0, equals));
            if (option == nullptr || !takes_value(*option)) {
                continue;
            }
            if (equals == std::string::npos) {
                at.waits = option;
            } else {
                note_value(*option, word.substr(equals + 1), at.where);
            }
            continue;
        }
        const std::vector<const CLI::App*> below = commands_of(*at.command);
        const auto found = std::ranges::find(below, word, &CLI::App::get_name);
        if (found != below.end()) {
            at.command = *found;
            at.positionals = 0;
        } else {
            ++at.positionals;
        }
    }
    return at;
}

/// `a` and `b` of an option or a positional whose values are checked against `{a,b}`.
std::vector<std::string> choices(const CLI::Option& option) {
    const std::string type = option.get_type_name();
    const std::size_t begin = type.find(":{");
    const std::size_t end = type.rfind('}');
    if (begin == std::string::npos || end == std::string::npos) {
        return {};
    }
    std::vector<std::string> out;
    std::string_view rest = std::string_view(type).substr(begin + 2, end - begin - 2);
    while (!rest.empty()) {
        const std::size_t comma = rest.find(',');
        out.emplace_back(rest.substr(0, comma));
        rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    }
    return out;
}

class candidates {
public:
    explicit candidates(std::string typed) : typed_(std::move(typed)) {}

    void add(const std::string& word, std::string_view what) {
        if (word.starts_with(typed_)) {
            lines_.push_back(what.empty() ? word : fmt::format("{}\t{}", word, what));
        }
    }
    void add_files() { files_ = true; }
    void print(std::ostream& out) const {
        for (const std::string& line : lines_) {
            fmt::print(out, "{}\n", line);
        }
        fmt::print(out, ":{}\n", files_ ? 0 : 4);
    }

private:
    std::string typed_;
    std::vector<std::string> lines_;
    bool files_ = false;
};

/// Values of an option, each behind `before`.
void add_values(
    const CLI::Option& option, const std::string& before, const asked_cluster& where, candidates& to
) {
    for (const std::string& choice : choices(option)) {
        to.add(before + choice, "");
    }
    if (option.get_type_name() == "FILE" || option.get_name(true, false) == "FILE") {
        to.add_files();
    }
    if (option.check_lname("namespace")) {
        for (const cluster_word& ns : namespaces_of(where.cluster)) {
            to.add(before + ns.word, ns.what);
        }
    }
}

void add_positional(const position& at, candidates& to) {
    std::size_t number = 0;
    for (const CLI::Option* option : at.command->get_options()) {
        const bool counts = option->get_positional();
        if (!counts || (number++ != at.positionals && option->get_items_expected_max() <= 1)) {
            continue;
        }
        if (option->get_name(true, false) == "NAME") {
            for (const cluster_word& job : jobs_of(at.where.cluster, at.where.ns)) {
                to.add(job.word, job.what);
            }
        } else {
            add_values(*option, "", at.where, to);
        }
    }
}

void add_options(const CLI::App& command, const std::string& typed, candidates& to) {
    for (const CLI::Option* option : command.get_options()) {
        for (const std::string& name : option->get_lnames()) {
            to.add("--" + name, option->get_description());
        }
        for (const std::string& name : option->get_snames()) {
            if (typed == "-" + name) {
                to.add(typed, option->get_description());
            }
        }
    }
}

}  // namespace

std::optional<std::vector<std::string>> words_to_complete(int argc, const char* const* argv) {
    const std::vector<std::string> all(argv, argv + argc);
    if (all.empty()) {
        return std::nullopt;
    }
    const bool by_kubectl = std::string_view(all[0]).ends_with(name_for_kubectl);
    const bool by_script = all.size() > 1 && all[1] == request;
    if (!by_kubectl && !by_script) {
        return std::nullopt;
    }
    // kubectl passes the request too, from some version on.
    return std::vector<std::string>(all.begin() + (by_script ? 2 : 1), all.end());
}

void complete(const command_tree& tree, const std::vector<std::string>& words, std::ostream& out) {
    const std::string typed = words.empty() ? std::string() : words.back();
    const position at = stand(tree.root(), words);
    candidates found(typed);
    const std::size_t equals = typed.starts_with("--") ? typed.find('=') : std::string::npos;
    if (at.waits != nullptr) {
        add_values(*at.waits, "", at.where, found);
    } else if (equals != std::string::npos) {
        const CLI::Option* option = at.command->get_option_no_throw(typed.substr(0, equals));
        if (option != nullptr) {
            add_values(*option, typed.substr(0, equals + 1), at.where, found);
        }
    } else if (typed.starts_with('-')) {
        add_options(*at.command, typed, found);
    } else {
        for (const CLI::App* command : commands_of(*at.command)) {
            found.add(command->get_name(), command->get_description());
        }
        add_positional(at, found);
    }
    found.print(out);
}

}  // namespace signalbox::op::cli
