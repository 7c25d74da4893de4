// SPDX-License-Identifier: Apache-2.0
//
// Times that a node tells by a clock of its own (BEHAVIOUR.md 12.8).
#include "engine/jobs.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::core;
using signalbox::test::ddp;
using signalbox::test::world;

TEST_CASE("[behaviour 12.8] a node's clock moves no delay past the life of its pod", "[engine]") {
    const seconds off{GENERATE(-7200, -1, 0, 3600)};
    CAPTURE(off.count());
    world w(ddp().run_policy("\"backoffLimit\":9"));
    w.start();
    for (int i = 1; i <= 4; ++i) {
        w.wait(seconds{5});
        pod_record& pod = w.pod("worker", 0);
        w.exit(pod, 1);
        pod.containers.at(0).finished = w.now() + off;
        w.settle();
        while (w.pods().size() < 3 && w.wake()) {
        }
        w.run_all();
        REQUIRE(w.status().backoff_count == i);
        const auto& last = w.status().restarts.last;
        REQUIRE(last);
        REQUIRE(last->time);
        CHECK(*last->time <= w.now());
        CHECK(*last->time >= w.now() - seconds{i < 2 ? 10 : 90});
    }
    // The third and the fourth of a row wait 20 and 40 s, less what the pod lived.
    REQUIRE(w.status().restarts.last->not_before);
    CHECK(*w.status().restarts.last->not_before - *w.status().restarts.last->time >= seconds{40});
}

TEST_CASE(
    "[behaviour 12.8] of a pod whose creation is not known the end counts as told", "[engine]"
) {
    world w(ddp().run_policy("\"backoffLimit\":9"));
    w.start();
    pod_record& pod = w.pod("worker", 0);
    pod.creation.reset();
    w.wait(seconds{60});
    w.exit(pod, 1);
    pod.containers.at(0).finished = w.now() - seconds{20};
    const instant end = *pod.containers.at(0).finished;
    w.settle();
    const auto& last = w.status().restarts.last;
    REQUIRE(last);
    CHECK(last->time == end);
}
