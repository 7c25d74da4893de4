// SPDX-License-Identifier: Apache-2.0
//
// Breadth first over all choices of one configuration; the number of the adversary's choices is the
// distance. From every new state the natural run is followed to its end.
#pragma once

#include "choices.hpp"
#include "configurations.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace signalbox::search {

struct finding {
    std::string violation;           ///< begins with the rule it breaks
    std::vector<std::string> trace;  ///< every choice from the first world on, in words
    int faults = 0;                  ///< choices of the adversary among them
    /// Two more choices that cost more one after the other than together; empty for others.
    std::vector<std::string> grouped = {};
};

struct report {
    std::string name;
    std::uint64_t states = 0;
    std::uint64_t steps = 0;
    /// All choices up to this many of the adversary's were tried.
    int complete_depth = 0;
    /// How often each happened.
    std::array<std::uint64_t, static_cast<std::size_t>(op::count)> fired{};
    /// One of each kind of violation: that with the shortest trace.
    std::vector<finding> findings;
};

/// Kinds of violations beyond which the search goes on.
using is_known = std::function<bool(const std::string& violation)>;

struct limits {
    std::uint64_t steps = 60'000;  ///< of the breadth-first part, about
    std::uint64_t walks = 50;      ///< random ones after it
    int walk_length = 60;
    std::uint64_t seed = 1;
};

report explore(const configuration& c, const limits& l, const is_known& known);

/// The kind of a violation: its text without names and numbers of one case.
std::string kind_of(const std::string& violation);

/// What a trace and the natural run after it violate, each once, in the order in which it is met.
/// Every choice must be possible where it stands, or the last line says which is not. `by itself`
/// in a trace stands for all that happens by itself before time has to pass.
std::vector<std::string> replay(const configuration& c, const std::vector<std::string>& trace);
std::vector<std::string> replay(
    std::string_view configuration_name, const std::vector<std::string>& trace
);

/// After the trace two more choices, once together and once with a look between them: what differs
/// in the end, or nothing.
std::string compare_groupings(
    std::string_view configuration_name,
    const std::vector<std::string>& trace,
    const std::string& first,
    const std::string& second
);

/// The trace for people, with what the process decides at each pass.
std::string tell(const configuration& c, const finding& f);
/// A test that can be pasted.
std::string as_test(const std::string& configuration_name, const finding& f);

}  // namespace signalbox::search
