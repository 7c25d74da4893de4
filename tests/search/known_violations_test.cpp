// SPDX-License-Identifier: Apache-2.0
//
// The known violations, each by its shortest traces: what happens, and what the engine then breaks.
// A mended rule turns its test red: then the test becomes one of the rule, and the entry in
// known_violations.cpp goes.
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

bool contains(const violations& found, const std::string& violation) {
    return std::find(found.begin(), found.end(), violation) != found.end();
}

const std::string judged = "5.3 an incident is judged while an absence is not confirmed";
const std::string not_confirmed = "5.3 nobody confirms an absence while the job waits";
const std::string dead_name = "1.3 the job waits for ever for the name of a stuck pod";

}  // namespace

TEST_CASE("known: stuck-name, a restart wants the name of a pod that was labelled gone") {
    CHECK(contains(
        replay(
            "deepspeed: nodes",
            when_running(
                {"exits worker-0 137",
                 "by itself",
                 "node dies worker-1",
                 "by itself",
                 "wake",
                 "by itself",
                 "exits worker-0 137"}
            )
        ),
        dead_name
    ));
    CHECK(contains(
        replay(
            "plain, scope Replica: nodes",
            when_running(
                {"node dies worker-1", "by itself", "wake", "by itself", "exits worker-1-r1 1"}
            )
        ),
        dead_name
    ));
}

TEST_CASE("known: absence-unconfirmed, a peer's exit costs though another pod vanished first") {
    CHECK(
        replay(
            "plain without budget: ends", when_running({"vanish worker-0", "exits master-0 1"})
        ) == violations{judged}
    );
    CHECK(
        replay("c10d: ends", when_running({"exits node-1 1", "pass", "vanish node-2"})) ==
        violations{not_confirmed, judged}
    );
}

TEST_CASE("known: absence-while-settling, pod 0 vanishes while another pod settles") {
    CHECK(
        replay("c10d: ends", when_running({"exits node-1 1", "pass", "vanish node-0"})) ==
        violations{not_confirmed, judged}
    );
}

TEST_CASE("known: given-up-and-resized, who left is still counted as given up") {
    const violations found = replay(
        "c10d elastic without budget: fewer",
        when_running({"exits node-2 137", "resize 2", "pass", "pass", "exits node-1 1"})
    );
    CHECK(contains(found, "5.10 an elastic job fails though 1 of at least 1 replicas are left"));
}

TEST_CASE("known: not-initialized, the look that ends the job leaves Initialized as it is") {
    CHECK(
        replay("plain: ends", {"pass", "pass", "pass", "start master-0", "exits master-0 0"}) ==
        violations{"2.4 the job ends with all its pods accepted, and is not Initialized"}
    );
}

TEST_CASE("known: refusal-settles, a pod that is refused for good waits like one that exited") {
    CHECK(contains(
        replay("etcd: objects", {"refuse pods: invalid"}),
        "2.8 a pod was refused for good, none ever was, and the job goes on"
    ));
}

TEST_CASE("known: replica-failure-forgotten, the end tells nothing of who was given up") {
    CHECK(
        replay(
            "plain, failurePolicy Master: ends",
            when_running(
                {"exits worker-0 1",
                 "by itself",
                 "exits worker-0 1",
                 "by itself",
                 "exits master-0 0"}
            )
        ) ==
        violations{"4.13 ReplicaFailure is not True at the end of a job that gave up a replica"}
    );
}

TEST_CASE("known: budget-by-grouping, failures of one moment cost by the looks they are seen in") {
    CHECK(
        compare_groupings(
            "plain, scope Replica: ends", when_running({}), "exits master-0 1", "exits worker-0 1"
        ) ==
        "5.5 the same failures cost more if they are seen one after the other: 1 Running together, "
        "2 Running apart"
    );
}

TEST_CASE("known: paused-and-invalid, the status does not say what keeps the job paused") {
    CHECK(
        replay("plain: user", {"pass", "pause", "pass", "resume", "break spec"}) ==
        violations{
            "4.2 a job whose invalid specification is not paused stays Paused, and does not say "
            "why"}
    );
}

TEST_CASE("known: running-without-group, what a Running elastic job lacks has no name") {
    CHECK(
        replay(
            "c10d elastic gang: kinds", when_running({"stop serving PodGroup", "exits node-1 137"})
        ) == violations{"I18 the job is Running, and node-1 has no pod"}
    );
}
