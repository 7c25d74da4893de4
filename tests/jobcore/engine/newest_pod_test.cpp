// SPDX-License-Identifier: Apache-2.0
//
// Of several pods on one index the newest counts (BEHAVIOUR.md 1.4, 4.15).
#include "engine/jobs.hpp"

#include <catch2/catch.hpp>

using signalbox::test::c10d;
using signalbox::test::world;

TEST_CASE("[behaviour 4.15] an index counts by its pod of the highest round", "[engine]") {
    world w(c10d());
    w.start();
    w.status().restarts.replaced.push_back({"node", 1, 1});
    // The pod of round 1 is there, and that of round 0 has not gone yet.
    auto successor = w.pod("node", 1);
    successor.round = 1;
    successor.name += "-r9";
    successor.uid = "successor";
    successor.phase = signalbox::core::pod_phase::pending;
    successor.containers.front().state = signalbox::core::container_state::waiting;
    const bool first = GENERATE(true, false);
    w.pods().insert(first ? w.pods().begin() : w.pods().end(), successor);
    const auto decision = w.look();
    REQUIRE(decision.status);
    CHECK(decision.status->aggregate->running == 2);
    CHECK(decision.status->aggregate->pending == 1);
    CHECK(decision.status->tasks.front().replicas.at(1).uid == "successor");
}
