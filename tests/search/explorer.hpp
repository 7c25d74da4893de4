// SPDX-License-Identifier: Apache-2.0
//
// Breadth first over all choices of one configuration; the number of the adversary's choices is the
// distance. From every new state the natural run is followed to its end.
#pragma once

#include "choices.hpp"
#include "configurations.hpp"
#include "trace.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace signalbox::search {

struct report {
    std::string name;
    std::uint64_t states = 0;
    std::uint64_t steps = 0;
    /// All choices up to this many of the adversary's were tried.
    int complete_depth = 0;
    /// How often the adversary chose each.
    std::array<std::uint64_t, static_cast<std::size_t>(op::count)> fired{};
    /// One of each kind of violation: that with the shortest trace.
    std::vector<finding> findings;
};

/// Kinds of violations beyond which the search goes on.
using is_known = std::function<bool(const std::string& violation)>;

struct limits {
    std::uint64_t steps = 14'000;  ///< of the breadth-first part, about
    std::uint64_t walks = 50;      ///< random ones after it
    int walk_length = 60;
    std::uint64_t seed = 1;
};

report explore(const configuration& c, const limits& l, const is_known& known);

}  // namespace signalbox::search
