// SPDX-License-Identifier: Apache-2.0
#include "k8sio/slow_start.hpp"

#include <catch2/catch.hpp>

#include <vector>

using namespace signalbox::k8sio;

TEST_CASE("[behaviour 2.2] [requirement X12] slow start doubles per round trip up to the bound") {
    slow_start pace(32);
    std::vector<int> rounds;
    for (int round = 0; round < 8; ++round) {
        int sent = 0;
        while (pace.may_start()) {
            pace.started();
            ++sent;
        }
        rounds.push_back(sent);
        for (int i = 0; i < sent; ++i) {
            pace.succeeded();
        }
    }
    CHECK(rounds == std::vector<int>{1, 2, 4, 8, 16, 32, 32, 32});
}

TEST_CASE(
    "[behaviour 2.2] [requirement X12] a refusal that will repeat costs one request, not the whole "
    "stage"
) {
    slow_start pace(32);
    for (int i = 0; i < 3; ++i) {
        REQUIRE(pace.may_start());
        pace.started();
        pace.succeeded();
    }
    pace.started();
    pace.started();
    REQUIRE(pace.may_start());  // but for the refusal there would be room for two more
    pace.failed();
    pace.stop();
    CHECK_FALSE(pace.may_start());
    CHECK_FALSE(pace.idle());  // one is still under way
    pace.succeeded();
    CHECK(pace.idle());
    CHECK_FALSE(pace.may_start());
    CHECK(pace.stopped());
}

TEST_CASE("[behaviour 2.2] a bound of one, or none, is one request at a time") {
    slow_start pace(GENERATE(0U, 1U));
    for (int i = 0; i < 5; ++i) {
        REQUIRE(pace.may_start());
        pace.started();
        CHECK_FALSE(pace.may_start());
        pace.succeeded();
    }
}

TEST_CASE("[behaviour 2.2] one failure leaves the window as it is, and gives its place back") {
    slow_start pace(32);
    pace.started();
    CHECK_FALSE(pace.may_start());
    pace.failed();
    CHECK(pace.may_start());
    CHECK(pace.window() == 1);
    CHECK_FALSE(pace.stopped());
}
