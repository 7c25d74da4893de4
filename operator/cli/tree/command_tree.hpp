// SPDX-License-Identifier: Apache-2.0
//
// The commands as CLI11 sees them.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace signalbox::op::cli {

/// A command in the tree, and the options that it fills; both live as long as the tree.
template <class Options>
struct added_command {
    CLI::App& app;
    Options& options;
};

class command_tree {
public:
    using action = std::function<int(std::ostream& out, std::ostream& err)>;

    /// `program`: how it was called, argv[0]. As `kubectl-signalbox` it is a plugin of kubectl, and
    /// help texts say `kubectl signalbox`.
    explicit command_tree(std::string program);
    command_tree(const command_tree&) = delete;
    command_tree& operator=(const command_tree&) = delete;

    CLI::App& root() { return root_; }
    const CLI::App& root() const { return root_; }
    const std::string& program() const { return program_; }
    /// `signalbox`, or `kubectl signalbox`
    std::string called() const { return root_.get_name(); }
    /// `text` with the program called as it was, where a text says how to call it.
    std::string in_words_of_caller(std::string text) const;

    /// A command that `call` carries out.
    CLI::App& add(
        CLI::App& parent,
        const std::string& name,
        const std::string& what,
        const std::string& footer,
        action call
    );
    /// The same with options of its own.
    template <class Options>
    added_command<Options> add(
        CLI::App& parent,
        const std::string& name,
        const std::string& what,
        const std::string& footer,
        int (*call)(const Options&, std::ostream&, std::ostream&)
    ) {
        auto options = std::make_shared<Options>();
        Options& to_fill = *options;
        CLI::App& app =
            add(parent, name, what, footer, [options, call](std::ostream& out, std::ostream& err) {
                return call(*options, out, err);
            });
        return {app, to_fill};
    }

    /// What the parsed command line asks for; empty before.
    const action& chosen() const { return chosen_; }

private:
    std::string program_;
    CLI::App root_;
    action chosen_;
};

/// The commands below `app`, in order, but for those that only programs call.
std::vector<const CLI::App*> commands_of(const CLI::App& app);

}  // namespace signalbox::op::cli
