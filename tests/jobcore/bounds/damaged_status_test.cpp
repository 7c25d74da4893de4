// SPDX-License-Identifier: Apache-2.0
//
// A status that somebody damaged costs no more than the largest job (BEHAVIOUR.md api 5.4,
// api 6.2).
#include "bounds/large_job.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::core;

TEST_CASE("[api 6.2] endless counts in a status are bounded where they are read", "[bounds]") {
    std::string tasks;
    for (int i = 0; i < 100; ++i) {
        tasks += std::string(i == 0 ? "" : ",") + R"({"type":"t)" + std::to_string(i) +
                 R"(","wanted":2147483647,"restartCount":2147483647})";
    }
    const job_status s = parse_status(
        R"({"status":{"attempt":2147483647,"backoffCount":2147483647,"tasks":[)" + tasks +
        R"(],"restarts":{"renames":2147483647,"replaced":[{"type":"t","round":2147483647}]}}})"
    );
    CHECK(s.tasks.size() == 32);
    CHECK(s.tasks.front().wanted == 10000);
    // Whatever is counted can still be raised.
    for (const std::int32_t count :
         {s.attempt,
          s.backoff_count,
          s.restarts.renames,
          s.restarts.replaced.at(0).round,
          s.tasks.front().restart_count}) {
        CHECK(count == 1000000000);
    }
}
