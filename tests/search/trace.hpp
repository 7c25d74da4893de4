// SPDX-License-Identifier: Apache-2.0
//
// Traces: what happened from the first world on, in words; how they are told, replayed, shortened
// and turned into tests.
#pragma once

#include "choices.hpp"
#include "configurations.hpp"
#include "events.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::search {

using trace = std::vector<std::string>;

struct finding {
    std::string violation;  ///< begins with the rule it breaks
    trace choices;          ///< every choice from the first world on
    int faults = 0;         ///< choices of the adversary among them
    /// Exits after that which end otherwise by how they are seen (groupings.hpp); empty for others.
    std::string exits{};
};

/// The kind of a violation: its text without names and numbers of one case.
std::string kind_of(const std::string& violation);

/// What a trace and the natural run after it violate, each once, in the order in which it is met.
/// Every choice must be possible where it stands, or the last line says which is not. `by itself`
/// in a trace stands for all that happens by itself before time has to pass.
std::vector<std::string> replay(const configuration& c, const trace& choices);
std::vector<std::string> replay(std::string_view configuration_name, const trace& choices);

/// Carries out one entry of a trace. False if it is not possible here.
bool take_words(world& w, const std::string& words, outcome& done);

/// The finding without choices that its kind of violation does not need.
finding shortened(const configuration& c, finding f);

/// The trace for people, with what the process makes of each choice.
std::string tell(const configuration& c, const finding& f);
/// A test that can be pasted.
std::string as_test(const std::string& configuration_name, const finding& f);

/// Choices of a natural run, at most: what takes longer does not come to rest.
inline constexpr int natural_limit = 400;

/// Follows what comes by itself until nothing does or `stop(choice, number)` says so. False if it
/// never ends.
template <class Stop>
bool run_by_itself(world& w, outcome& done, Stop stop) {
    for (int i = 0; i < natural_limit; ++i) {
        const auto next = natural_choice(w);
        if (!next || stop(*next, i)) {
            return true;
        }
        apply(w, *next, done);
    }
    return false;
}

/// A job that waits wakes up again and again: after so many choices that is its rest.
inline bool waits_for_ever(const choice& next, int number) {
    return next.what == op::wake && number > natural_limit / 2;
}

}  // namespace signalbox::search
