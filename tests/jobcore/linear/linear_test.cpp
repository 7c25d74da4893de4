// SPDX-License-Identifier: Apache-2.0
//
// What a byte of a job costs does not grow with the job (BEHAVIOUR.md api 6.9). Costs are times of
// this thread's processor, as ratios within this run: a byte of a job of 150 KB may cost four times
// what it costs in one of 15 KB, where what is quadratic costs ten times as much, and in the full
// run eight times at 1.5 MB, against a hundred. A ratio that is too high is measured again before
// it counts. tests/bench/bench_linear.cpp prints the ratios themselves, which are to be below two.
#include "linear/filled_jobs.hpp"
#include "linear/walked_job.hpp"
#include "signalbox_test/sanitized.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace signalbox::test;

namespace {

struct sizes {
    std::size_t small, large;
    double most;  ///< of the ratio
};
constexpr sizes quick{15'000, 150'000, 4};
constexpr sizes full{15'000, 1'500'000, 8};

/// Below this a step's costs are those of the clock.
constexpr double least_seconds = 50e-6;

/// The steps that cost more than they may, with their ratios.
std::vector<std::string> too_costly(const filled_job& job, const sizes& of) {
    const std::string small = job.make(of.small);
    const std::string large = job.make(of.large);
    const double bytes = static_cast<double>(large.size()) / static_cast<double>(small.size());
    const step_costs base = walk_job(small);
    const step_costs costs = walk_job(large);
    std::vector<std::string> out;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const double ratio = costs.at(i) / std::max(base.at(i), least_seconds) / bytes;
        if (ratio > of.most) {
            out.push_back(std::string(steps.at(i)) + " " + std::to_string(ratio));
        }
    }
    return out;
}

/// Every `stride`-th of the jobs, and how many these were.
int check_jobs(const std::vector<filled_job>& jobs, const sizes& of, std::size_t stride = 1) {
    constexpr int most_tries = 4;
    int checked = 0;
    for (std::size_t i = 0; i < jobs.size(); i += stride) {
        INFO(jobs[i].name);
        std::vector<std::string> found = too_costly(jobs[i], of);
        for (int again = 1; !found.empty() && again < most_tries; ++again) {
            found = too_costly(jobs[i], of);
        }
        CHECK(found == std::vector<std::string>());
        ++checked;
    }
    return checked;
}

}  // namespace

TEST_CASE("[api 6.9] hostile jobs cost by the byte what small ones do", "[linear]") {
    CHECK(check_jobs(filled_by_hand(), quick, sanitized ? 10 : 3) > 20);
}

TEST_CASE(
    "[api 6.9] each text and list of the tables costs by the byte what it does in a small job",
    "[linear]"
) {
    CHECK(check_jobs(filled_from_tables(), quick, sanitized ? 150 : 30) > 10);
}

TEST_CASE("[api 6.9] each of them costs no more at 1.5 MB", "[.full]") {
    CHECK(check_jobs(filled_by_hand(), full) > 200);
    CHECK(check_jobs(filled_from_tables(), full) > 1000);
}
