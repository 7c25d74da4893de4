// SPDX-License-Identifier: Apache-2.0
//
// What a program consists of. A command registers itself, as a constant of the file that adds it:
// it is in every program that this file is linked into, and nothing else names it.
#pragma once

#include "cli/tree/command_tree.hpp"

#include <initializer_list>
#include <string_view>
#include <vector>

namespace signalbox::op::cli {

/// Headings of the overview in `signalbox --help`, in its order.
enum class overview_part { without_cluster, with_cluster, for_shell };

/// The overview names the command under this heading, in order of `place`.
struct overview_entry {
    overview_part under;
    int place;
};

/// Places are numbers with gaps, so that a new command can stand between two others.
class registered_command {
public:
    /// `name`: of one of the root's commands. `place`: in lists of commands; those of one place
    /// come by name. `add` puts it into a tree; `entries` is where the overview names it.
    registered_command(
        std::string_view name,
        int place,
        void (*add)(command_tree& tree),
        std::initializer_list<overview_entry> entries = {}
    );

    std::string_view name() const { return name_; }
    /// Null if the overview does not name it there.
    const overview_entry* entry(overview_part under) const;

private:
    friend void add_commands(command_tree& tree);

    std::string_view name_;
    int place_;
    void (*add_)(command_tree&);
    std::vector<overview_entry> entries_;
};

/// Adds all that are registered, in their order.
void add_commands(command_tree& tree);
/// `validate, plan, explain`: what the overview names under a heading.
std::string names_under(overview_part under);

/// Something that this program may be started as, in place of a command: `begin` does not return
/// then, and does nothing otherwise.
class registered_start {
public:
    explicit registered_start(void (*begin)());
};

/// The first thing in main().
void begin_as_started();

}  // namespace signalbox::op::cli
