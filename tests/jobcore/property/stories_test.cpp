// SPDX-License-Identifier: Apache-2.0
//
// Thousands of generated stories. A failure prints seed, job and the
// shortest list of steps that still breaks the rule. SIGNALBOX_STORIES=<first>,<count> runs others.
#include "property/runner.hpp"
#include "signalbox_test/sanitized.hpp"

#include <catch2/catch.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

using namespace signalbox::test;

namespace {

constexpr std::uint64_t usual_count = sanitized ? 200 : 2000;
constexpr int steps_per_story = 32;

struct seeds {
    unsigned long long first = 1;
    unsigned long long count = usual_count;
};

seeds chosen_seeds() {
    seeds out;
    if (const char* text = std::getenv("SIGNALBOX_STORIES")) {
        if (std::sscanf(text, "%llu,%llu", &out.first, &out.count) != 2) {
            FAIL("SIGNALBOX_STORIES must be <first>,<count>, not " << text);
        }
    }
    return out;
}

}  // namespace

TEST_CASE(
    "[behaviour 5.3] [behaviour 12.11] [behaviour I1] [behaviour I5] [behaviour I6] [behaviour I8] "
    "[behaviour I18] in every story each decision keeps the rules, and the job ends",
    "[property]"
) {
    const seeds range = chosen_seeds();
    long decisions = 0;
    for (unsigned long long i = 0; i < range.count; ++i) {
        const unsigned long long seed = range.first + i;
        const story s = draw_story(seed, steps_per_story);
        const story_result r = run_story(s);
        decisions += r.decisions;
        if (r.violation) {
            const story small = shrunk(s, r);
            std::string trace;
            const story_result again = run_story(small, &trace);
            FAIL_CHECK(
                "seed " << seed << ": " << again.violation.value_or("") << "\nafter step "
                        << again.step << " of\n"
                        << to_string(small) << trace
            );
        }
    }
    CHECK(decisions > static_cast<long>(range.count) * steps_per_story / 2);
}
