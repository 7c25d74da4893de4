// SPDX-License-Identifier: Apache-2.0
#include "jobcore/progress.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::core;

namespace {

constexpr instant noon{seconds{1769860800}};

progress_message step(std::int64_t n, std::int32_t rank = 0, std::int32_t attempt = 1) {
    progress_message out;
    out.attempt = attempt;
    out.rank = rank;
    out.current_step = n;
    return out;
}

}  // namespace

TEST_CASE("[behaviour 13.7] messages of one attempt become one record", "[keep]") {
    progress_report r;
    CHECK(take_message(r, step(5), noon));
    CHECK(r.attempt == 1);
    CHECK(r.current_step == 5);
    CHECK(r.advanced == noon);
    CHECK(take_message(r, step(5), noon + seconds(1)));
    CHECK(r.advanced == noon);
    CHECK(r.time == noon + seconds(1));
    CHECK(take_message(r, step(6), noon + seconds(2)));
    CHECK(r.advanced == noon + seconds(2));
    CHECK_FALSE(take_message(r, step(9, 0, 0), noon));
    CHECK_FALSE(take_message(r, step(9, -1, 2), noon));
    CHECK(take_message(r, step(0, 0, 2), noon + seconds(3)));
    CHECK(r.attempt == 2);
    CHECK(r.current_step == 0);
    CHECK_FALSE(take_message(r, step(9, 0, 1), noon));
}

TEST_CASE("[behaviour 13.7] what a message does not say stays", "[keep]") {
    progress_report r;
    progress_message first = step(5);
    first.total_steps = 20;
    first.percentage = 25;
    first.metrics = {{"loss", "4.3"}};
    take_message(r, first, noon);
    progress_message last;
    last.attempt = 1;
    last.percentage = 100;
    last.checkpoint_step = 20;
    last.checkpoint_seconds = 3;
    take_message(r, last, noon + seconds(9));
    CHECK(r.current_step == 5);
    CHECK(r.total_steps == 20);
    CHECK(r.percentage == 100);
    CHECK(r.metrics.size() == 1);
    CHECK(r.checkpoint_step == 20);
    CHECK(r.checkpoint_time == noon + seconds(9));
    CHECK(r.advanced == noon + seconds(9));
    last.checkpoint_step = 10;  // an older one, told late
    last.checkpoint_seconds = 9;
    take_message(r, last, noon + seconds(10));
    CHECK(r.checkpoint_step == 20);
    CHECK(r.checkpoint_seconds == 3);
}

TEST_CASE("[behaviour 13.7] ranks, the one ahead says how far", "[keep]") {
    progress_report r;
    take_message(r, step(5, 1), noon);
    take_message(r, step(7, 0), noon + seconds(1));
    take_message(r, step(6, 1), noon + seconds(2));
    CHECK(r.current_step == 7);
    CHECK(r.rank == 0);
    REQUIRE(r.ranks.size() == 2);
    CHECK(r.ranks[1] == rank_progress{1, 6, noon + seconds(2)});
    for (std::int32_t i = 0; i < 5000; ++i) {
        take_message(r, step(8, i), noon + seconds(3));
    }
    CHECK(r.ranks.size() == most_ranks);
    progress_message many = step(9);
    many.metrics.resize(100, {"m", "1"});
    take_message(r, many, noon + seconds(4));
    CHECK(r.metrics.size() == most_metrics);
}

TEST_CASE("[behaviour 13.7] a process that tells neither step nor share", "[keep]") {
    progress_report r;
    progress_message said;
    said.attempt = 1;
    said.metrics = {{"loss", "1"}};
    take_message(r, said, noon);
    take_message(r, said, noon + seconds(60));
    CHECK(r.advanced == noon + seconds(60));
}
