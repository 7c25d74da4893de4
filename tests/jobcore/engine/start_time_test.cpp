// SPDX-License-Identifier: Apache-2.0
//
// The time from which the deadline counts (BEHAVIOUR.md 5.12).
#include "engine/jobs.hpp"

#include <catch2/catch.hpp>

using signalbox::core::milliseconds;
using signalbox::test::at;
using signalbox::test::ddp;
using signalbox::test::world;

TEST_CASE("[behaviour 5.12] startTime is rounded up: no job is cut short by it", "[engine]") {
    world w(ddp());
    w.wait(milliseconds{1});
    w.start();
    CHECK((w.status().start_time == at(1)));
}
