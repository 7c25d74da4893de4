// SPDX-License-Identifier: Apache-2.0
//
// A user of libjobcore: reads something that is no job, and tells the time.
#include <jobcore/decide.hpp>
#include <jobcore/time.hpp>

#include <iostream>
#include <string>

int main() {
    const auto job = signalbox::core::read_job("{}");
    const auto time = signalbox::core::parse_time("2026-01-31T12:00:00Z");
    if (job || job.error().empty() || !time) {
        return 1;
    }
    std::cout << signalbox::core::format_time(*time) << ": " << job.error() << '\n';
    return signalbox::core::format_time(*time) == "2026-01-31T12:00:00Z" ? 0 : 1;
}
