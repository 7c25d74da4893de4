// SPDX-License-Identifier: Apache-2.0
//
// Passes that are cut off between two deletions, and second pods of a replica: the end is the same
// as without (BEHAVIOUR.md 5.13, I20).
#include "engine/jobs.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>

using namespace signalbox::core;
using signalbox::test::at;
using signalbox::test::c10d;
using signalbox::test::ddp;
using signalbox::test::world;

namespace {

/// As a lost answer could leave it: kept before the first one, for its suffix (1.4).
pod_record& add_second(world& w, const std::string& type, int index) {
    pod_record second = w.pod(type, index);
    second.name += "-r9";
    second.uid = "second";
    return w.pods().emplace_back(std::move(second));
}

/// One pass in which the deletion of that pod is lost, and each later stage waits for it.
void pass_without_deletion_of(world& w, const std::string& name) {
    bool lost = false;
    w.gate = [&](const action& a) {
        lost = lost || (a.what() == verb::remove && a.name == name);
        return a.name != name;
    };
    w.pass();
    w.gate = nullptr;
    REQUIRE(lost);
}

}  // namespace

TEST_CASE(
    "[behaviour 5.13] [behaviour 5.1] the pod that failed goes after those that are not waited for",
    "[engine]"
) {
    world w(c10d().run_policy(R"("backoffLimit":0,"failurePolicy":"Master","cleanUpPolicy":"All")")
    );
    w.start();
    w.exit("node", 1, 1);
    w.exit("node", 0, 0);
    w.pass();
    REQUIRE(w.status().phase == job_phase::succeeded);
    const std::string running = w.pod("node", 2).name;
    pass_without_deletion_of(w, running);
    CHECK(w.find("node", 1) != nullptr);
    const instant end = w.now();
    w.settle();
    CHECK(w.now() == end);
    CHECK(w.pods().empty());
}

TEST_CASE(
    "[behaviour 5.13] [behaviour 1.4] what a second pod exits with is not its replica's", "[engine]"
) {
    world w(ddp().run_policy(R"("activeDeadlineSeconds":100,"cleanUpPolicy":"All")"));
    w.start();
    add_second(w, "worker", 1);
    w.to(at(100));
    w.pass();
    REQUIRE(w.status().reason == "DeadlineExceeded");
    const std::string first = w.pod("worker", 1).name;
    w.exit("worker", 1, 0);
    pass_without_deletion_of(w, first);
    CHECK(std::ranges::count(w.pods(), "second", &pod_record::uid) == 1);
    w.settle();
    CHECK(w.pods().empty());
    CHECK(w.status().restarts.completed.empty());
    CHECK(w.status().ready == "0/3");
}

TEST_CASE(
    "[behaviour 5.13] [behaviour 1.4] [behaviour I1] no policy keeps a second pod that runs",
    "[engine]"
) {
    const std::string policy = GENERATE(as<std::string>{}, "None", "Unfinished", "All");
    CAPTURE(policy);
    world w(ddp().run_policy("\"cleanUpPolicy\":\"" + policy + '"'));
    w.start();
    add_second(w, "worker", 1);
    w.exit("master", 0, 0);
    w.pass();
    REQUIRE(w.status().phase == job_phase::succeeded);
    w.to(w.now() + seconds(600));
    w.settle();
    CHECK(w.pods().size() == (policy == "None" ? 3 : policy == "All" ? 0 : 1));
}

TEST_CASE(
    "[behaviour 1.4] [api 5.7] who is given up may have a second pod that has not gone yet",
    "[engine]"
) {
    world w(ddp(2, "Never").run_policy(R"("failurePolicy":"Master")"));
    w.start();
    const std::string first = w.pod("worker", 1).name;
    w.exit(add_second(w, "worker", 1), 1);
    w.pass();
    REQUIRE(w.status().restarts.given_up.size() == 1);
    pass_without_deletion_of(w, first);
    w.settle();
    CHECK_FALSE(w.has_event("StatusRepaired"));
    CHECK(w.status().restarts.given_up.size() == 1);
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.pods().size() == 3);
}

TEST_CASE(
    "[behaviour 6.1] [behaviour 1.4] a second pod of the deciding replica does not end a paused "
    "job",
    "[engine]"
) {
    world w(ddp().run_policy("\"backoffLimit\":0"));
    w.start();
    set_pause(w, true);
    w.pass();
    REQUIRE(w.status().phase == job_phase::paused);
    const std::string first = w.pod("master", 0).name;
    add_second(w, "master", 0);
    w.exit("master", 0, 1);
    pass_without_deletion_of(w, first);
    w.settle();
    CHECK(w.status().phase == job_phase::paused);
    CHECK(w.pods().empty());
}

TEST_CASE("[behaviour 5.7] a pod of an older attempt goes before torchrun's peers have left") {
    world w(c10d());
    w.start();
    w.exit("node", 1, 1);
    w.exit("node", 0, 0);
    w.settle();
    while (w.pods().size() < 3 && w.wake()) {
    }
    w.run_all();
    REQUIRE(w.status().attempt == 2);
    pod_record& older = add_second(w, "node", 2);
    older.attempt = 1;
    older.name = w.pod("node", 2).name + "-old";
    const std::string name = older.name;
    w.exit("node", 0, 0);
    w.settle();
    REQUIRE(w.status().phase == job_phase::succeeded);
    CHECK(std::ranges::none_of(w.pods(), [&](const pod_record& p) { return p.name == name; }));
    CHECK(w.find("node", 1) != nullptr);  // it is waited for
}
