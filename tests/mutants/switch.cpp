// SPDX-License-Identifier: Apache-2.0
//
// The switch of mutants, linked to a program that build.py makes: SIGNALBOX_MUTANT is the number of
// the one that is on. With SIGNALBOX_MUTANT_TRACE all are off, and it is noted which are asked for,
// also by processes that the program starts of itself, forked or as the same program once more.
#include "switch.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace {

/// Made when it is first asked: by constants of other units, before anything of this one.
struct switches {
    std::mutex lock;
    std::set<int> reached;
    /// The same, by the lowest bits: what is asked again and again is quickly answered.
    std::array<std::atomic<int>, 65536> lately{};
    int on = -1;
    const char* trace = std::getenv("SIGNALBOX_MUTANT_TRACE");
    pid_t of_tests = getpid();
    int others = -1;  ///< a file to which other processes append what they ask for
    switches() {
        if (trace != nullptr) {
            others = open(
                (std::string(trace) + ".others").c_str(),
                O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC,
                0666
            );
            if (std::getenv("SIGNALBOX_MUTANT_STARTED") != nullptr) {
                of_tests = -1;
            } else {
                [[maybe_unused]] const int emptied = ftruncate(others, 0);
                setenv("SIGNALBOX_MUTANT_STARTED", "1", 1);
            }
        }
        if (const char* number = std::getenv("SIGNALBOX_MUTANT")) {
            on = std::atoi(number);
        }
    }
};

switches& all() {
    static switches made;
    return made;
}

/// Before constants, one of which may run a whole process that is not the tests' own, and while the
/// file of the trace can be found.
[[gnu::constructor(101)]] void begin() {
    all();
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
    std::set<int> out = std::exchange(s.reached, {});
    int number = 0;
    for (off_t at = 0; pread(s.others, &number, sizeof number, at) == sizeof number;
         at += sizeof number) {
        out.insert(number);
    }
    [[maybe_unused]] const int emptied = ftruncate(s.others, 0);
    return out;
}

}  // namespace signalbox::mutants

extern "C" bool mutant_is(int number);

extern "C" bool mutant_is(int number) {
    switches& s = all();
    if (s.trace != nullptr) {
        auto& lately = s.lately[static_cast<std::size_t>(number) % s.lately.size()];
        if (lately.exchange(number) != number) {
            if (getpid() == s.of_tests) {
                const std::lock_guard<std::mutex> held(s.lock);
                s.reached.insert(number);
            } else {
                [[maybe_unused]] const ssize_t noted = write(s.others, &number, sizeof number);
            }
        }
        return false;
    }
    return number == s.on;
}
