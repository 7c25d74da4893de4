// SPDX-License-Identifier: Apache-2.0
//
// Where disrupted and failed pods meet (BEHAVIOUR.md 5.4, 5.8).
#include "engine/jobs.hpp"

#include <catch2/catch.hpp>

using signalbox::test::c10d;
using signalbox::test::ddp;
using signalbox::test::world;

TEST_CASE("[behaviour 5.4] one disrupted pod makes the whole incident free", "[engine]") {
    world w(ddp());
    w.start();
    w.wait(signalbox::core::seconds{100});
    // A drained node takes worker 1; worker 0 loses its peer and fails in the same look.
    w.ask_deletion(w.pod("worker", 1));
    w.exit("worker", 0, 1);
    w.settle();
    CHECK(w.status().backoff_count == 0);
    CHECK(w.status().restarts.disruptions == 1);
    CHECK(w.status().attempt == 2);
}

TEST_CASE("[behaviour 5.8] the shorter delay of a free incident lowers none", "[engine]") {
    world w(c10d().run_policy("\"backoffLimit\":6"));
    w.start();
    // Counted failures of one replica: no delay, 10 s, 20 s, 40 s.
    for (int i = 0; i < 3; ++i) {
        w.exit("node", 1, 137);
        w.settle();
        w.wait(signalbox::core::seconds{i == 0 ? 0 : 10 * i});
        w.settle();
        w.run_all();
    }
    w.exit("node", 1, 137);
    w.settle();
    const auto held = w.status().restarts.last->not_before;
    REQUIRE(held == w.now() + signalbox::core::seconds{40});
    // A young pod that is disrupted would wait for 10 s.
    w.ask_deletion(w.pod("node", 2));
    w.settle();
    REQUIRE(w.status().restarts.disruptions == 1);
    CHECK(w.status().restarts.last->not_before == held);
}

TEST_CASE(
    "[behaviour 5.4] how long a pod lived goes by its end, not by when that is seen", "[engine]"
) {
    world w(ddp());
    w.start();
    w.wait(signalbox::core::seconds{5});
    w.ask_deletion(w.pod("worker", 0));
    w.wait(signalbox::core::seconds{660});
    w.settle();
    REQUIRE(w.status().restarts.disruptions == 1);
    CHECK(w.status().restarts.free_streak == 1);
}
