// SPDX-License-Identifier: Apache-2.0
//
// What a byte of a job costs in a large one and in a small one: every text and list of the schema
// filled with 1.5 MB and with 15 KB. Prints the worst ratios of each step; asserts nothing.
#include "linear/filled_jobs.hpp"
#include "linear/walked_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

using namespace signalbox::test;

namespace {

std::size_t large_bytes = 1'500'000;

struct row {
    double ratio;
    double seconds;
    std::string text;
};

/// The least of several: the processor is not ours alone.
step_costs cost_of(const std::string& job, int runs) {
    step_costs least = walk_job(job);
    for (int i = 1; i < runs; ++i) {
        const step_costs again = walk_job(job);
        for (std::size_t s = 0; s < steps.size(); ++s) {
            least.at(s) = std::min(least.at(s), again.at(s));
        }
    }
    return least;
}

void add_rows(const filled_job& job, std::vector<row>& rows) {
    const std::string small = job.make(15'000);
    const std::string large = job.make(large_bytes);
    const double bytes = static_cast<double>(large.size()) / static_cast<double>(small.size());
    const step_costs of_small = cost_of(small, 3);
    const step_costs of_large = cost_of(large, 1);
    double sum = 0;
    for (std::size_t s = 0; s < steps.size(); ++s) {
        const double ratio = of_large.at(s) / std::max(of_small.at(s), 1e-6) / bytes;
        sum += of_large.at(s);
        rows.push_back({ratio, of_large.at(s), fmt::format("{:<8} {}", steps.at(s), job.name)});
    }
    if (sum > 4) {
        fmt::print("slow {:.1f} s {}\n", sum, job.name);
        std::fflush(stdout);
    }
}

}  // namespace

/// `bench_linear [TEXT [ROWS [BYTES]]]`: only the places that contain the text; so many rows; of
/// jobs so large.
int main(int count, char** words) {
    const std::string_view only = count > 1 ? words[1] : "";
    const std::size_t shown = count > 2 ? std::strtoul(words[2], nullptr, 10) : 40;
    if (count > 3) {
        large_bytes = std::strtoul(words[3], nullptr, 10);
    }
    std::vector<row> rows;
    for (const auto& jobs : {filled_by_hand(), filled_from_tables()}) {
        for (const filled_job& job : jobs) {
            if (job.name.find(only) != std::string::npos) {
                add_rows(job, rows);
            }
        }
    }
    std::ranges::sort(rows, std::greater<>(), &row::ratio);
    fmt::print("{} measured; ratio of costs per byte, ms at 1.5 MB, step, place\n", rows.size());
    for (const row& r : std::span(rows).first(std::min(shown, rows.size()))) {
        fmt::print("{:>8.2f} {:>9.1f} {}\n", r.ratio, r.seconds * 1e3, r.text);
    }
    return 0;
}
