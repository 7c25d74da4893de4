// SPDX-License-Identifier: Apache-2.0
//
// Tells of the test cases of a suite of Catch2 that is built with mutants (switch.cpp). The trace
// gets a line for each: its CPU time, the switches that it came to, its name; the first line is for
// what came before all of them. Without a trace a line `NOTICED <name>` tells of one that fails.
#include "switch.hpp"

#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <catch2/catch.hpp>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>

#include <time.h>

namespace {

#if CATCH_VERSION_MAJOR >= 3
using listener = Catch::EventListenerBase;
#else
using listener = Catch::TestEventListenerBase;
#endif

/// A value with Catch2 2, a pointer with Catch2 3.
const std::string& name_of(const Catch::TestCaseInfo& info) {
    return info.name;
}
[[maybe_unused]] const std::string& name_of(const Catch::TestCaseInfo* info) {
    return info->name;
}

/// Of the process. How busy the machine is does not change it.
std::chrono::nanoseconds cpu_time() {
    std::timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

class tracer : public listener {
public:
    using listener::listener;

    void testRunStarting(const Catch::TestRunInfo& run) override {
        listener::testRunStarting(run);
        if (const char* file = signalbox::mutants::trace_file()) {
            out_.open(file);
            write("", std::chrono::nanoseconds(0));
        }
    }
    void testCaseStarting(const Catch::TestCaseInfo& info) override {
        listener::testCaseStarting(info);
        start_ = cpu_time();
    }
    void testCaseEnded(const Catch::TestCaseStats& stats) override {
        listener::testCaseEnded(stats);
        if (out_.is_open()) {
            write(name_of(stats.testInfo), cpu_time() - start_);
        } else if (stats.totals.testCases.failed > 0) {
            std::printf("NOTICED %s\n", name_of(stats.testInfo).c_str());
            std::fflush(stdout);
        }
    }

private:
    void write(const std::string& name, std::chrono::nanoseconds time) {
        out_ << time.count() << ' ';
        for (const int number : signalbox::mutants::take_reached()) {
            out_ << number << ',';
        }
        out_ << ' ' << name << std::endl;
    }

    std::ofstream out_;
    std::chrono::nanoseconds start_{};
};
CATCH_REGISTER_LISTENER(tracer)

}  // namespace
