// SPDX-License-Identifier: Apache-2.0
//
// The switch of the mutants of run_switched.py, linked to a suite of Catch2: SIGNALBOX_MUTANT is
// the number of the one that is on. With SIGNALBOX_MUTANT_TRACE all are off, and that file gets a
// line for each test case: its time, the switches that it came to, its name. Else a line `NOTICED
// <name>` tells of one that fails.
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <catch2/catch.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <set>
#include <string>

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

class tracer : public listener {
public:
    using listener::listener;

    void testRunStarting(const Catch::TestRunInfo& run) override {
        listener::testRunStarting(run);
        if (all().trace != nullptr) {
            out_.open(all().trace);
            write("", std::chrono::nanoseconds(0));
        }
    }
    void testCaseStarting(const Catch::TestCaseInfo& info) override {
        listener::testCaseStarting(info);
        start_ = std::chrono::steady_clock::now();
    }
    void testCaseEnded(const Catch::TestCaseStats& stats) override {
        listener::testCaseEnded(stats);
        if (out_.is_open()) {
            write(name_of(stats.testInfo), std::chrono::steady_clock::now() - start_);
        } else if (stats.totals.testCases.failed > 0) {
            std::printf("NOTICED %s\n", name_of(stats.testInfo).c_str());
            std::fflush(stdout);
        }
    }

private:
    void write(const std::string& name, std::chrono::nanoseconds time) {
        const std::lock_guard<std::mutex> held(all().lock);
        out_ << time.count() << ' ';
        for (const int number : all().reached) {
            out_ << number << ',';
        }
        out_ << ' ' << name << std::endl;
        all().reached.clear();
        for (auto& number : all().lately) {
            number = -1;
        }
    }

    std::ofstream out_;
    std::chrono::steady_clock::time_point start_;
};
CATCH_REGISTER_LISTENER(tracer)

}  // namespace

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
