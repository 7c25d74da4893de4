// SPDX-License-Identifier: Apache-2.0
//
// Traces that broke a rule once, found by the search: now each is a test of that rule.
#include "checks.hpp"
#include "explorer.hpp"

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
    CHECK(compare_groupings(
              "plain, scope Replica: ends", when_running({}), "exits master-0 1", "exits worker-0 1"
    )
              .empty());
}

TEST_CASE("[behaviour 4.2] a job that an invalid specification keeps paused says so") {
    CHECK(replay("plain: user", {"pass", "pause", "pass", "resume", "break spec"}).empty());
}

TEST_CASE("[behaviour 8.4] a running job that lacks a pod says that PodGroup is not served") {
    CHECK(after("c10d elastic gang: kinds", {"stop serving PodGroup", "exits node-1 137"}).empty());
}
