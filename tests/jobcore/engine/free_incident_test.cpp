// SPDX-License-Identifier: Apache-2.0
//
// Incidents in which some pods were disrupted and others failed (behaviour.md 5.4).
#include "engine/jobs.hpp"

#include <catch2/catch.hpp>

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
