// SPDX-License-Identifier: Apache-2.0
//
// The switch of mutants, linked to a program that build.py makes: SIGNALBOX_MUTANT is the number of
// the one that is on. With SIGNALBOX_MUTANT_TRACE all are off, and it is noted which are asked for.
#include "switch.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <utility>

namespace {

/// Made when it is first asked: by constants of other units, before anything of this one.
struct switches {
    std::mutex lock;
    std::set<int> reached;
    /// The same, by the lowest bits: what is asked again and again is quickly answered.
    std::array<std::atomic<int>, 65536> lately{};
    int on = -1;
    const char* trace = std::getenv("SIGNALBOX_MUTANT_TRACE");
    switches() {
        if (const char* number = std::getenv("SIGNALBOX_MUTANT")) {
            on = std::atoi(number);
        }
    }
};

switches& all() {
    static switches made;
    return made;
}

}  // namespace

namespace signalbox::mutants {

const char* trace_file() {
    return all().trace;
}

std::set<int> take_reached() {
    switches& s = all();
    const std::lock_guard<std::mutex> held(s.lock);
    for (auto& number : s.lately) {
        number = -1;
    }
    return std::exchange(s.reached, {});
}

}  // namespace signalbox::mutants

extern "C" bool mutant_is(int number);

extern "C" bool mutant_is(int number) {
    switches& s = all();
    if (s.trace != nullptr) {
        auto& lately = s.lately[static_cast<std::size_t>(number) % s.lately.size()];
        if (lately.exchange(number) != number) {
            const std::lock_guard<std::mutex> held(s.lock);
            s.reached.insert(number);
        }
        return false;
    }
    return number == s.on;
}
