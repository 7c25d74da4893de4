// SPDX-License-Identifier: Apache-2.0
#include "k8sio/in_flight_limit.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

using namespace signalbox::k8sio;
using namespace std::chrono_literals;

namespace {

using sizes = std::vector<std::size_t>;

struct server {
    void answer(
        std::size_t times,
        const std::string& kind,
        std::chrono::nanoseconds took,
        bool worked = true
    ) {
        for (std::size_t i = 0; i < times; ++i) {
            now += 1ms;
            limit.note(kind, took, now, worked);
        }
    }
    /// As many answers as make it look once.
    std::size_t after_a_round(std::chrono::nanoseconds took) {
        answer(limit.size(), "create pod", took);
        return limit.size();
    }

    in_flight_limit limit{6, 32};
    steady_time now{1h};
};

/// That knows what is fast, and has all requests: 4 ms.
server known() {
    server out;
    out.answer(7, "create pod", 4ms);
    for (int round = 0; round < 20; ++round) {
        out.after_a_round(4ms);
    }
    return out;
}

}  // namespace

TEST_CASE("[requirement R10] an even server gets a quarter more at a time, however slow it is") {
    for (const auto took : {0ms, 1ms, 300ms}) {
        server s;
        CHECK(s.limit.size() == 6);
        s.answer(7, "create pod", took);
        for (const std::size_t size : sizes{8, 10, 13, 17, 22, 28, 32, 32}) {
            CHECK(s.after_a_round(took) == size);
        }
    }
}

TEST_CASE(
    "[requirement R10] answers that take half as long again as the best let a quarter fewer go"
) {
    server s = known();
    CHECK(s.after_a_round(6ms) == 32);
    for (const std::size_t size : sizes{24, 18, 13, 9, 6, 6}) {
        CHECK(s.after_a_round(7ms) == size);
    }
    CHECK(s.after_a_round(4ms) == 8);
    CHECK(s.after_a_round(6ms) == 10);
}

TEST_CASE("[requirement R10] each kind of request has a time of its own") {
    server s = known();
    s.answer(8, "status", 40ms);
    for (int i = 0; i < 100; ++i) {
        s.answer(1, "create pod", 4ms);
        s.answer(3, "status", 40ms);
    }
    CHECK(s.limit.size() == 32);
    s.answer(32 + 32, "create pod", 40ms);
    CHECK(s.limit.size() < 32);
}

TEST_CASE("[requirement R10] one answer that is fast by chance is not what is expected") {
    server s = known();
    for (int i = 0; i < 50; ++i) {
        s.answer(7, "create pod", 4ms);
        s.answer(1, "create pod", 1us);
    }
    CHECK(s.limit.size() == 32);
}

TEST_CASE("[requirement R10] a refusal is no measure of what the server can do, unless it is slow"
) {
    server s = known();
    s.answer(1000, "create pod", 1us, false);
    s.answer(64, "create pod", 4ms);
    CHECK(s.limit.size() == 32);
    for (int i = 0; i < 200; ++i) {  // fast ones do not make up for slow answers
        s.answer(1, "create pod", 7ms);
        s.answer(1, "create pod", 1us, false);
    }
    CHECK(s.limit.size() == 6);
    s.answer(1000, "create pod", 4ms);
    REQUIRE(s.limit.size() == 32);
    s.answer(64, "create pod", 1s, false);
    CHECK(s.limit.size() < 32);
}

TEST_CASE("[requirement R10] a server that stays slower is believed in steps of ten minutes") {
    server s = known();
    s.answer(1000, "create pod", 12ms);
    REQUIRE(s.limit.size() == 6);
    // Its best is 4 ms, 5, 6.25, 7.8 and at last 9.8, of which 12 ms is not half as long again.
    for (int step = 0; step < 3; ++step) {
        s.now += 9min;
        s.answer(100, "create pod", 12ms);
        CHECK(s.limit.size() == 6);
        s.now += 1min;
        s.answer(100, "create pod", 12ms);
        CHECK(s.limit.size() == 6);
    }
    s.now += 10min;
    s.answer(100, "create pod", 12ms);
    CHECK(s.limit.size() > 6);
    // Faster ones count at once.
    s.answer(40, "create pod", 1ms);
    s.answer(200, "create pod", 3ms);
    CHECK(s.limit.size() == 6);
}

TEST_CASE("[requirement R10] there is room for one request at least") {
    in_flight_limit limit(0, 0);
    CHECK(limit.size() == 1);
    for (int i = 0; i < 100; ++i) {
        limit.note("create pod", i < 20 ? 1ms : 1s, steady_time{});
    }
    CHECK(limit.size() == 1);
}
