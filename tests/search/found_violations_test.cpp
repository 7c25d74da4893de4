// SPDX-License-Identifier: Apache-2.0
//
// Traces that broke a rule once, found by the search: now each is a test of that rule.
#include "checks.hpp"
#include "explorer.hpp"
#include "groupings.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::search;

namespace {

/// From the first pass to the pods that run, and on.
trace when_running(const trace& then) {
    trace all{"by itself"};
    all.insert(all.end(), then.begin(), then.end());
    return all;
}

violations after(const char* configuration, const trace& then) {
    return replay(configuration, when_running(then));
}

}  // namespace

TEST_CASE("[behaviour 1.3] a restart does not want the name of a pod that was labelled gone") {
    CHECK(after(
              "deepspeed: nodes",
              {"exits worker-0 137",
               "by itself",
               "node dies worker-1",
               "by itself",
               "wake",
               "by itself",
               "exits worker-0 137"}
    )
              .empty());
    CHECK(after(
              "plain, scope Replica: nodes",
              {"node dies worker-1", "by itself", "wake", "by itself", "exits worker-1-r1 1"}
    )
              .empty());
}

TEST_CASE("[behaviour 5.3] [behaviour 5.4] a peer that vanished makes an exit of that time free") {
    CHECK(after("plain without budget: ends", {"vanish worker-0", "exits master-0 1"}).empty());
    CHECK(after("c10d: ends", {"exits node-1 1", "pass", "vanish node-2"}).empty());
    CHECK(after("c10d: ends", {"exits node-1 1", "pass", "vanish node-0"}).empty());
}

TEST_CASE("[behaviour 5.10] [behaviour 7.2] who left with a smaller size is not given up") {
    CHECK(after(
              "c10d elastic without budget: fewer",
              {"exits node-2 137", "resize 2", "pass", "pass", "exits node-1 1"}
    )
              .empty());
}

TEST_CASE("[behaviour 2.4] a job that ends when its last pod is first seen is Initialized") {
    CHECK(replay("plain: ends", {"pass", "pass", "pass", "start master-0", "exits master-0 0"})
              .empty());
}

TEST_CASE("[behaviour 2.8] a pod that is refused for good does not settle") {
    CHECK(replay("etcd: objects", {"refuse pods: invalid"}).empty());
}

TEST_CASE("[behaviour 4.13] the end tells of replicas that were given up") {
    CHECK(after(
              "plain, failurePolicy Master: ends",
              {"exits worker-0 1", "by itself", "exits worker-0 1", "by itself", "exits master-0 0"}
    )
              .empty());
}

TEST_CASE("[behaviour 5.5] failures of one moment cost one, however they are seen") {
    CHECK(compare_looks("plain, scope Replica: ends", when_running({}), "master-0 1, +0 worker-0 1")
              .empty());
}

TEST_CASE("[behaviour 10.4] [behaviour 4.3] the pod that decided when the attempt began decides") {
    const char* edit =
        GENERATE("spec first type 0", "spec turned round", "spec without the first type");
    CAPTURE(edit);
    CHECK(after("plain: specs", {edit, "exits worker-0 0"}).empty());
    CHECK(after("plain: specs", {edit, "exits master-0 0"}).empty());
    CHECK(after("plain: specs", {"pause", edit, "resume", "exits master-0 0"}).empty());
}

TEST_CASE("[behaviour 10.4] a type that is gone for a while loses no pod") {
    CHECK(replay(
              "plain: specs",
              {"pass",
               "pass",
               "pass",
               "pass",
               "spec without the last type",
               "pass",
               "spec as created"}
    )
              .empty());
}

TEST_CASE("[behaviour 10.4] [behaviour I10] no pod is told another rendezvous than its attempt's") {
    CHECK(replay(
              "plain: specs",
              {"pass",
               "spec without the first type",
               "pass",
               "pass",
               "pass",
               "spec as created",
               "by itself"}
    )
              .empty());
    CHECK(
        after("plain, scope Replica of 2: specs", {"spec turned round", "exits worker-0 1"}).empty()
    );
}

TEST_CASE("[behaviour 5.8] an exit that settles after healthy hours begins the streak anew") {
    CHECK(
        after(
            "c10d of 2: streak",
            {"exits node-1 1", "by itself", "wake", "by itself", "eleven minutes", "exits node-1 1"}
        )
            .empty()
    );
}

TEST_CASE("[behaviour 5.4] who vanishes while an exit settles was not short-lived for that") {
    CHECK(after(
              "c10d of 2: streak",
              {"eleven minutes", "exits node-1 1", "by itself", "vanish node-0"}
    )
              .empty());
}

TEST_CASE("[behaviour 5.4] a short life that is seen late is still short") {
    CHECK(after("plain: losses", {"preempt worker-0", "eleven minutes", "preempt master-0"}).empty()
    );
}

TEST_CASE("[behaviour 4.2] [behaviour 6.2] an attempt that a pause leaves takes its records along"
) {
    CHECK(
        after(
            "c10d: spec",
            {"exits node-1 1", "by itself", "wake", "pass", "exits node-0 1", "break spec", "pause"}
        )
            .empty()
    );
    CHECK(after("c10d: spec", {"exits node-1 0", "pass", "exits node-0 1", "break spec", "pause"})
              .empty());
}

TEST_CASE("[api 5.7] [behaviour 10.3] what older policies made of an exit is no damage") {
    CHECK(after(
              "plain, policies: specs",
              {"spec failurePolicy Master",
               "exits worker-0 1",
               "by itself",
               "exits worker-0 1",
               "by itself",
               "spec as created"}
    )
              .empty());
    CHECK(after(
              "c10d elastic, policies: specs",
              {"exits node-1 1",
               "by itself",
               "wake",
               "by itself",
               "exits node-1 1",
               "by itself",
               "spec maxRestarts 0"}
    )
              .empty());
    CHECK(after("c10d, policies: specs", {"exits node-1 1", "pass", "spec maxRestarts 0"}).empty());
}

TEST_CASE("[behaviour 5.5] [behaviour 5.10] failures end the same, however they are seen") {
    struct row {
        const char* configuration;
        const char* exits;
    };
    const auto [configuration, exits] = GENERATE(
        // A replica that is given up vetoes no restart.
        row{"plain, failurePolicy Master, workers Never: looks", "worker-0 1, +5 master-0 1"},
        // The first incident takes the deciding pod with it, the next one is beyond the budget.
        row{"plain, scope Replica, failurePolicy Master: looks",
            "worker-0 1, +5 master-0 1, +25 worker-1 1"},
        row{"plain, scope Replica, failurePolicy Master, workers Never: looks",
            "worker-0 1, +0 master-0 1"},
        // Failures of one moment, of which one allows the restart.
        row{"plain, Never beside OnFailure: looks", "worker-0 1, +1 master-0 1"},
        row{"plain, OnFailure beside Never: looks", "master-0 1, +0 worker-0 1"},
        row{"plain of 3, ExitCode: looks", "master-0 1, +2 worker-0 137"},
        row{"plain, mixed types: looks", "worker-0 1, +0 ps-0 1"},
        // Without restartScope: what was killed first, and what follows from that.
        row{"c10d: looks", "node-1 137, +0 node-0 1"},
        row{"c10d of 3, budget 1: looks", "node-1 137, +5 node-0 1"},
        row{"etcd, budget 1: looks", "node-0 137, +0 node-1 1"},
        row{"c10d of 3, budget 1: looks", "node-1 1, +16 node-2 1"}
    );
    CAPTURE(configuration, exits);
    CHECK(compare_looks(configuration, when_running({}), exits) == "");
}

TEST_CASE("[behaviour 5.9] [behaviour 12.8] the clock of a node moves no delay") {
    const char* clocks = GENERATE("clocks -4000", "clocks 4000");
    CAPTURE(clocks);
    CHECK(replay("plain, Always: clocks", {clocks, "by itself", "exits worker-0 0"}).empty());
}

TEST_CASE("[behaviour 5.14] [behaviour 11.2] an end in the future is told once") {
    CHECK(after("plain, TTL: time", {"exits master-0 0", "pass", "time back"}).empty());
}

TEST_CASE("[behaviour 7.2] [behaviour 5.10] a smaller size does not leave a job below its minimum"
) {
    CHECK(after("c10d elastic, at least 2: fewer", {"exits node-1 1", "by itself", "resize 2"})
              .empty());
}

TEST_CASE("[behaviour 12.9] [behaviour 5.12] a deadline that a pause wins over causes no wake-up") {
    CHECK(after(
              "plain, deadline, exits: late",
              {"wake", "vanish worker-0", "pause", "exits master-0 1"}
    )
              .empty());
}

TEST_CASE("[behaviour 4.2] a job that an invalid specification keeps paused says so") {
    CHECK(replay("plain: user", {"pass", "pause", "pass", "resume", "break spec"}).empty());
}

TEST_CASE("[behaviour 8.4] a running job that lacks a pod says that PodGroup is not served") {
    CHECK(after("c10d elastic gang: kinds", {"stop serving PodGroup", "exits node-1 137"}).empty());
}

TEST_CASE("[behaviour 2.8] [behaviour I18] a pod that is refused for good is not asked for at once"
) {
    CHECK(after(
              "plain, scope Replica, workers Never: refused",
              {"vanish worker-0", "refuse pods: invalid"}
    )
              .empty());
    CHECK(after(
              "c10d: refused",
              {"vanish node-1", "pass", "pass", "exits node-2 1", "refuse pods: invalid"}
    )
              .empty());
}

TEST_CASE("[behaviour 13.8] [behaviour 13.1] a replaced pod that ends before it is seen to run") {
    CHECK(replay("c10d, stall: progress", {"pass",      "pass",           "pass",      "pass",
                                           "all start", "pass",           "report",    "pass",
                                           "wake",      "vanish node-1",  "pass",      "pass",
                                           "pass",      "pass",           "all start", "pass",
                                           "wake",      "vanish node-1",  "pass",      "pass",
                                           "pass",      "wake",           "pass",      "pass",
                                           "all start", "exits node-1 0", "pass",      "wake",
                                           "pass"})
              .empty());
}

TEST_CASE("[behaviour 8.14] a hostfile is that of the size that was admitted") {
    CHECK(replay("deepspeed elastic, queue: queue sizes", {"pass", "pass", "pass", "admit in part"})
              .empty());
}

TEST_CASE("[behaviour 8.13] an eviction ends the attempt whose only pod is being replaced") {
    CHECK(replay(
              "colossalai, queue: queue life",
              {"pass",
               "pass",
               "pass",
               "queue answers",
               "pass",
               "pass",
               "pass",
               "pass",
               "all start",
               "kill worker-0",
               "pass",
               "pass",
               "take quota"}
    )
              .empty());
}

TEST_CASE("[behaviour 8.3] [behaviour 8.6] a group that is being deleted still has its minimum") {
    CHECK(after(
              "plain, gang of Kubernetes: objects",
              {"delete PodGroup job",
               "by itself",
               "exits worker-0 0",
               "by itself",
               "exits worker-1 1",
               "by itself"}
    )
              .empty());
}

TEST_CASE("[behaviour 8.6] without an object, too, a gang that is made anew asks for who is left") {
    CHECK(after(
              "plain, gang of Koordinator: writes",
              {"by itself",
               "exits worker-1 0",
               "pass",
               "exits worker-0 1",
               "exits master-0 1",
               "vanish worker-1",
               "by itself"}
    )
              .empty());
}

TEST_CASE("[api 5.7] [behaviour 8.14] quota is given back for replicas of the attempt alone") {
    CHECK(replay(
              "plain, queue by label: status",
              {"pass",
               "pass",
               "pass",
               "queue answers",
               "pass",
               "pass",
               "pass",
               "pass",
               "all start",
               "exits worker-0 0",
               "pass",
               "pass",
               "damage restarts.completed.0.indexes = \"1\""}
    )
              .empty());
}
