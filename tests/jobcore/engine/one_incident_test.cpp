// SPDX-License-Identifier: Apache-2.0
//
// With restartScope Replica: what is one incident, and what is another (BEHAVIOUR.md 5.5).
#include "engine/jobs.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::core;
using signalbox::test::at;
using signalbox::test::c10d;
using signalbox::test::job_builder;
using signalbox::test::world;

namespace {

job_builder alone() {
    return c10d(4).run_policy(R"("restartScope":"Replica","backoffLimit":9)");
}

/// A job that has run for 100 s.
void run_for_long(world& w) {
    w.start();
    w.wait(seconds{100});
}

void exit_now(world& w, int index) {
    w.exit("node", index, 1);
    w.settle();
}

}  // namespace

TEST_CASE("[behaviour 5.5] what failed beside the last incident costs nothing more", "[engine]") {
    world w(alone());
    run_for_long(w);
    exit_now(w, 1);
    REQUIRE(w.status().backoff_count == 1);
    w.wait(seconds{14});
    exit_now(w, 2);
    CHECK(w.status().backoff_count == 1);
    CHECK(w.status().restarts.streak == 1);
    CHECK(w.status().restarts.disruptions == 0);
    CHECK(w.status().restarts.replaced.size() == 2);
    REQUIRE(w.status().restarts.last);
    CHECK(w.status().restarts.last->time == at(100));
    CHECK(w.status().restarts.last->pods.size() == 2);
}

TEST_CASE("[behaviour 5.5] what failed after the settle time is another incident", "[engine]") {
    world w(alone());
    run_for_long(w);
    exit_now(w, 1);
    w.wait(seconds{15});
    exit_now(w, 2);
    CHECK(w.status().backoff_count == 2);
}

TEST_CASE("[behaviour 5.5] a failure soon after a free incident counts", "[engine]") {
    world w(alone());
    run_for_long(w);
    w.ask_deletion(w.pod("node", 1), 0);
    w.settle();
    REQUIRE(w.status().restarts.disruptions == 1);
    w.wait(seconds{3});
    exit_now(w, 2);
    CHECK(w.status().backoff_count == 1);
    CHECK(w.status().restarts.disruptions == 1);
}

TEST_CASE("[behaviour 5.5] a replica that came with a new size is no part of it", "[engine]") {
    world w(alone().elastic(2, 8, 4));
    run_for_long(w);
    exit_now(w, 1);
    REQUIRE(w.status().backoff_count == 1);
    w.wait(seconds{2});
    w.edit().elastic(2, 8, 5);
    w.reload();
    w.settle();
    w.run_all();
    w.wait(seconds{2});
    exit_now(w, 4);
    CHECK(w.status().backoff_count == 2);
}

TEST_CASE("[behaviour 5.5] a pod whose init container failed ended when that did", "[engine]") {
    world w(job_builder("mnist").replicas("master", 1, "Never").replicas("worker", 1));
    w.settle();
    w.run(w.pod("master", 0));
    w.settle();
    container_record init;
    init.name = "prepare";
    init.init = true;
    init.state = container_state::terminated;
    init.exit_code = 3;
    init.finished = at(100);
    pod_record& worker = w.pod("worker", 0);
    worker.containers.push_back(init);
    worker.phase = pod_phase::failed;
    w.to(at(105));
    w.exit("master", 0, 1);
    w.to(at(130));  // both are seen at once, and the first allows the restart
    w.settle();
    CHECK(w.status().attempt == 2);
    CHECK(w.status().backoff_count == 1);
}
