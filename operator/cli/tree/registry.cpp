// SPDX-License-Identifier: Apache-2.0
#include "cli/tree/registry.hpp"

#include <algorithm>

namespace signalbox::op::cli {
namespace {

// Functions, since constants of other files use them before this file's own are made.
std::vector<registered_command>& all_commands() {
    static std::vector<registered_command> all;
    return all;
}

std::vector<void (*)()>& all_starts() {
    static std::vector<void (*)()> all;
    return all;
}

}  // namespace

registered_command::registered_command(
    std::string_view name,
    int place,
    void (*add)(command_tree& tree),
    std::initializer_list<overview_entry> entries
)
    : name_(name), place_(place), add_(add), entries_(entries) {
    all_commands().push_back(*this);
}

const overview_entry* registered_command::entry(overview_part under) const {
    const auto it = std::ranges::find(entries_, under, &overview_entry::under);
    return it == entries_.end() ? nullptr : &*it;
}

void add_commands(command_tree& tree) {
    std::vector<registered_command> all = all_commands();
    std::ranges::sort(all, {}, [](const registered_command& c) {
        return std::pair(c.place_, c.name_);
    });
    for (const registered_command& command : all) {
        command.add_(tree);
    }
}

std::string names_under(overview_part under) {
    std::vector<std::pair<int, std::string_view>> named;
    for (const registered_command& command : all_commands()) {
        if (const overview_entry* entry = command.entry(under)) {
            named.emplace_back(entry->place, command.name());
        }
    }
    std::ranges::sort(named);
    std::string out;
    for (const auto& [place, name] : named) {
        out += out.empty() ? "" : ", ";
        out += name;
    }
    return out;
}

registered_start::registered_start(void (*begin)()) {
    all_starts().push_back(begin);
}

void begin_as_started() {
    for (void (*begin)() : all_starts()) {
        begin();
    }
}

}  // namespace signalbox::op::cli
