// SPDX-License-Identifier: Apache-2.0
//
// Jobs of one namespace that have to wait for each other (BEHAVIOUR.md 2.12).
#include "engine/jobs.hpp"
#include "explain/explained.hpp"

#include <catch2/catch.hpp>

using namespace signalbox;
using namespace signalbox::test;
using core::job_phase;
using core::object_kind;

TEST_CASE("[behaviour 2.12] a job without room waits, and makes nothing", "[engine]") {
    world w(ddp());
    w.rules().namespace_bytes = 4711;
    w.no_room = true;
    w.settle();
    CHECK(w.status().phase == job_phase::pending);
    CHECK(w.status().reason == "WaitingForRoom");
    CHECK(w.pods().empty());
    CHECK(w.children().empty());
    CHECK_FALSE(w.status().start_time);
    CHECK_FALSE(w.look().wake_up);
    CHECK(w.count_events("WaitingForRoom") == 1);
    CHECK(w.condition("Running") == "False/WaitingForRoom");
    CHECK(
        core::find_condition(w.status(), "Running")->message.find("4711 bytes") != std::string::npos
    );
    const explained e(w);
    CHECK(e.says(core::explain_section::awaited, "namespace_bytes"));

    const int writes = w.status_writes;
    w.pass();
    CHECK(w.status_writes == writes);

    w.no_room = false;
    w.settle();
    CHECK(w.pods().size() == 3);
    CHECK(w.status().start_time);
    CHECK(w.status().told.empty());
}

TEST_CASE("[behaviour 2.12] a job that has begun keeps its place over restarts", "[engine]") {
    world w(ddp());
    w.start();
    w.no_room = true;
    w.exit("worker", 0, 1);
    w.settle();
    while (w.status().attempt < 2) {
        REQUIRE(w.wake());
    }
    w.settle();
    CHECK(w.pods().size() == 3);
    w.run_all();
    w.settle();
    CHECK(w.status().phase == job_phase::running);
    CHECK_FALSE(w.has_event("WaitingForRoom"));
}

TEST_CASE("[behaviour 2.12] a job that was paused waits for room as a new one", "[engine]") {
    world w(ddp());
    w.start();
    set_pause(w, true);
    w.settle();
    w.no_room = true;
    set_pause(w, false);
    w.settle();
    CHECK(w.status().phase == job_phase::resuming);
    CHECK(w.status().reason == "WaitingForRoom");
    CHECK(w.pods().empty());
    w.no_room = false;
    w.settle();
    CHECK(w.pods().size() == 3);
}
