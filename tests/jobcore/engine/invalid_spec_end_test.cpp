// SPDX-License-Identifier: Apache-2.0
//
// An invalid specification of a job that has not started, or has ended (BEHAVIOUR.md 4.2).
#include "engine/jobs.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::core;
using signalbox::test::c10d;
using signalbox::test::ddp;
using signalbox::test::job_builder;
using signalbox::test::set_pause;
using signalbox::test::world;

TEST_CASE(
    "[behaviour 4.2] [api 5.3] a job that never started ends with all seven counts", "[engine]"
) {
    world w(ddp().field("managedBy", "7"));
    w.settle();
    REQUIRE(w.status().reason == "InvalidSpec");
    CHECK(w.status().aggregate == aggregate_counts{});
    CHECK(w.status().ready == "0/0");
    CHECK_FALSE(w.status().selector.empty());
}

TEST_CASE(
    "[behaviour 5.14] [behaviour 4.2] such a job is deleted after its time to live", "[engine]"
) {
    world w(ddp().run_policy(R"("ttlSecondsAfterFinished":30)").field("managedBy", "7"));
    w.settle();
    REQUIRE(w.status().phase == job_phase::failed);
    CHECK(w.status().next_transition.has_value());
    w.wait(seconds{29});
    w.settle();
    CHECK_FALSE(w.job_deleted);
    w.wait(seconds{1});
    w.pass();
    CHECK(w.job_deleted);
}

TEST_CASE(
    "[behaviour 4.2] [behaviour 6.4] a job that was created paused waits to be mended", "[engine]"
) {
    world w(ddp().pause());
    const bool looked_at_first = GENERATE(true, false);
    if (looked_at_first) {
        w.settle();
        REQUIRE(w.status().phase == job_phase::paused);
    }
    w.edit().field("managedBy", "7");
    w.reload();
    w.settle();
    CHECK(w.status().phase == job_phase::paused);
    CHECK(w.count_events("InvalidSpec") == 1);
    w.edit().pause(false);
    w.reload();
    w.settle();
    CHECK(w.status().phase == job_phase::paused);
    CHECK(w.status().reason == "InvalidSpec");
    w.edit() = ddp();
    w.reload();
    w.start();
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.status().attempt == 1);
}

TEST_CASE(
    "[behaviour 4.2] [behaviour I19] what failed at an unknown time may have been first", "[engine]"
) {
    const bool alone = GENERATE(true, false);
    CAPTURE(alone);
    job_builder job = job_builder("mnist").replicas("master", 1, "Never").replicas("worker", 1);
    world w(alone ? job.run_policy(R"("restartScope":"Replica")") : job);
    w.start();
    w.edit().field("managedBy", "7");
    w.reload();
    w.settle();
    pod_record& worker = w.pod("worker", 0);
    worker.phase = pod_phase::failed;
    worker.reason = "Evicted";
    w.exit("master", 0, 1);
    w.settle();
    CHECK(w.status().reason == "InvalidSpec");
    w.wait(seconds{1000});
    CHECK_FALSE(w.look().status);
    SECTION("until another says when it ended") {
        w.exit(worker, 1);
        worker.containers.at(0).finished = w.now() - seconds{10};
        w.settle();
        CHECK(w.status().reason == "ErrorInPod");
    }
}

TEST_CASE(
    "[behaviour 5.1] [behaviour 4.2] an invalid specification keeps torchrun's barrier", "[engine]"
) {
    world w(c10d());
    w.start();
    w.edit().field("managedBy", "7");
    w.reload();
    w.settle();
    w.exit("node", 0, 0);
    w.settle();
    REQUIRE(w.status().phase == job_phase::succeeded);
    w.wait(seconds{299});
    w.settle();
    CHECK(w.live_pods() == 2);
    w.wait(seconds{2});
    w.settle();
    CHECK(w.live_pods() == 0);
}
