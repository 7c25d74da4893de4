// SPDX-License-Identifier: Apache-2.0
//
// How a suite of Catch2 says that it cannot run here (tests/README.md); in Python:
// tests/support/skips.py.
#pragma once

#include <catch2/catch.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

namespace signalbox::test {

#if CATCH_VERSION_MAJOR >= 3
using run_listener = Catch::EventListenerBase;
#else
using run_listener = Catch::TestEventListenerBase;
#endif

/// Skips the whole suite where something is missing: `Missing` is a function that says what, as a
/// text; an empty one if all is there. It is asked before the first test case, so that a skip never
/// hides a failure. A suite has one:
///
///     CATCH_REGISTER_LISTENER(signalbox::test::suite_needs<what_is_missing>)
template <std::string (*Missing)()>
class suite_needs : public run_listener {
public:
    using run_listener::run_listener;

    void testRunStarting(const Catch::TestRunInfo& run) override {
        run_listener::testRunStarting(run);
        const std::string why = Missing();
        if (why.empty()) {
            return;
        }
        const std::string suite(run.name);
        const std::string line = suite + ": " + why + "\n";
        std::fputs(line.c_str(), stdout);
        if (const char* folder = std::getenv("SIGNALBOX_SKIP_DIR")) {
            std::ofstream(std::string(folder) + "/" + suite + ".txt") << line;
        }
        std::fflush(nullptr);
        std::_Exit(77);  // CTest counts it as skipped
    }
};

}  // namespace signalbox::test
