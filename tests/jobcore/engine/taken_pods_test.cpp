// SPDX-License-Identifier: Apache-2.0
//
// What others do to pods is told in their words (BEHAVIOUR.md 3.9, 4.12), and when (4.14).
#include "engine/jobs.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace signalbox::core;
using signalbox::test::at;
using signalbox::test::colossalai;
using signalbox::test::ddp;
using signalbox::test::world;

TEST_CASE(
    "[behaviour 3.9] a pod that was taken is told with the words of who took it", "[engine]"
) {
    world w(ddp());
    w.start();
    pod_record& pod = w.pod("worker", 0);
    pod.disruption_target = true;
    pod.disruption_reason = "PreemptionByScheduler";
    pod.disruption_message = "default-scheduler: preempting to accommodate a higher priority pod";
    w.ask_deletion(pod);
    w.settle();
    const auto said = std::ranges::find(w.events, "ReplicaFailed", &event::reason);
    REQUIRE(said != w.events.end());
    CHECK(
        said->message.ends_with("was deleted (PreemptionByScheduler): default-scheduler: "
                                "preempting to accommodate a higher "
                                "priority pod")
    );
}

TEST_CASE("[behaviour 3.9] a pod's own reason goes before that of who took it", "[engine]") {
    world w(ddp());
    w.start();
    pod_record& pod = w.pod("worker", 0);
    pod.phase = pod_phase::failed;
    pod.reason = "Evicted";
    pod.message = "The node was low on resource: memory.";
    pod.disruption_target = true;
    pod.disruption_reason = "TerminationByKubelet";
    w.settle();
    const auto said = std::ranges::find(w.events, "ReplicaFailed", &event::reason);
    REQUIRE(said != w.events.end());
    CHECK(said->message.ends_with("failed (Evicted): The node was low on resource: memory."));
}

TEST_CASE("[behaviour 4.12] a pod that waits at a gate is told with the gate", "[engine]") {
    world w(ddp());
    w.settle();
    for (pod_record& pod : w.pods()) {
        pod.gates = "example.com/quota";
    }
    w.settle();
    CHECK(w.status().phase == job_phase::pending);
    CHECK(w.status().reason == "SchedulingGated");
    const condition* running = find_condition(w.status(), "Running");
    REQUIRE(running != nullptr);
    CHECK(running->message.find("scheduling gates: example.com/quota") != std::string::npos);
    w.run_all();
    for (pod_record& pod : w.pods()) {
        pod.gates = "";
    }
    w.settle();
    CHECK(w.status().phase == job_phase::running);
}

TEST_CASE("[behaviour 4.12] a gate of a worker is told before that it is not Ready", "[engine]") {
    world w(colossalai());
    w.settle();
    REQUIRE(w.status().reason == "WaitingForWorkers");
    w.pods().front().gates = "g";
    w.settle();
    CHECK(w.status().reason == "SchedulingGated");
}

TEST_CASE("[behaviour 4.14] no condition is older than startTime", "[engine]") {
    world w(ddp());
    w.wait(milliseconds{1});
    w.start();
    REQUIRE((w.status().start_time == at(1)));
    const condition* running = find_condition(w.status(), "Running");
    REQUIRE(running != nullptr);
    REQUIRE(running->status);
    CHECK((running->last_transition == at(1)));
}
