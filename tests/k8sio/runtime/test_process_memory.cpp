// SPDX-License-Identifier: Apache-2.0
#include "k8sio/process_memory.hpp"

#include <catch2/catch.hpp>

#include <fstream>
#include <sstream>
#include <string>

using namespace signalbox::k8sio;

namespace {

/// KiB of this program's code that are in memory.
long code_in_memory() {
    std::ifstream maps("/proc/self/smaps");
    long sum = 0;
    bool code = false;
    for (std::string line; std::getline(maps, line);) {
        std::istringstream words(line);
        std::string first, second;
        words >> first >> second;
        if (first.back() != ':') {
            code = second == "r-xp" && line.ends_with("k8sio_tests");
        } else if (first == "Rss:" && code) {
            sum += std::stol(second);
        }
    }
    return sum;
}

}  // namespace

TEST_CASE("pages that were touched once go, and the program goes on") {
    const long before = code_in_memory();
    REQUIRE(before > 500);
    release_startup_memory();
    CHECK(code_in_memory() < before / 2);
    release_startup_memory();
    CHECK(std::to_string(before).size() > 2);
}
