// SPDX-License-Identifier: Apache-2.0
//
// Which pods can report progress (BEHAVIOUR.md 13.10).
#include "engine/jobs.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

namespace core = signalbox::core;
using namespace signalbox::core;
using signalbox::test::c10d;
using signalbox::test::ddp;
using signalbox::test::job_builder;
using signalbox::test::world;

namespace {

job_builder asking_job() {
    return ddp(2).run_policy(R"("backoffLimit":3,"progress":{"stallAfterSeconds":600})");
}

core::progress_access receiver_of_tests() {
    return {"https://receiver:8444", "ca"};
}

/// By what was rendered for the pods.
bool all_report(world& w, bool wanted) {
    return std::ranges::all_of(w.pods(), [&](const pod_record& p) { return p.reports == wanted; });
}

}  // namespace

TEST_CASE("[behaviour 13.10] pods are made to report where a job asks and one can", "[engine]") {
    world asks(asking_job());
    asks.receiver = receiver_of_tests();
    start_heard(asks);
    CHECK(asks.pods().size() == 3);
    CHECK(all_report(asks, true));

    world silent(ddp());
    silent.receiver = receiver_of_tests();
    start_heard(silent);
    CHECK(all_report(silent, false));

    world alone(asking_job());
    start_heard(alone);
    CHECK(all_report(alone, false));
}

TEST_CASE(
    "[behaviour 13.10] where all jobs report, those do that begin an attempt from then on",
    "[engine]"
) {
    core::progress_access all = receiver_of_tests();
    all.of_all_jobs = true;
    world fresh(ddp());
    fresh.receiver = all;
    start_heard(fresh);
    CHECK(all_report(fresh, true));
    fresh.wait(seconds{3600});
    fresh.settle();
    CHECK(fresh.condition("Stalled").empty());  // no one has to report

    world older(ddp());
    start_heard(older);
    older.receiver = all;
    older.settle();
    CHECK(all_report(older, false));
    older.exit("worker", 0, 1);
    older.settle();
    while (older.live_pods() < 3 && older.wake()) {
    }
    REQUIRE(older.status().attempt == 2);
    CHECK(all_report(older, true));
}

TEST_CASE("[behaviour 13.10] an attempt stays as its first pods were made", "[engine]") {
    world w(c10d(3));
    w.receiver = receiver_of_tests();
    start_heard(w);
    REQUIRE(all_report(w, false));
    w.edit().run_policy(R"("progress":{"firstReportAfterSeconds":60})");
    w.reload();
    w.settle();
    w.wait(seconds{3600});
    w.settle();
    CHECK(w.pods().size() == 3);
    CHECK(w.status().attempt == 1);
    CHECK(w.condition("Stalled").empty());  // none of them can say anything
    w.vanish("node", 2);
    w.settle();
    while (w.live_pods() < 3 && w.wake()) {
    }
    REQUIRE(w.live_pods() == 3);
    REQUIRE(w.status().attempt == 1);
    CHECK(all_report(w, false));
    w.run_all();
    w.exit("node", 0, 1);
    w.settle();
    while (w.status().attempt == 1 && w.wake()) {
    }
    w.settle();
    while (w.live_pods() < 3 && w.wake()) {
    }
    REQUIRE(w.status().attempt == 2);
    CHECK(all_report(w, true));
}

TEST_CASE(
    "[behaviour 13.10] [behaviour 2.14] nor is a pod that reports taken for forged", "[engine]"
) {
    world w(asking_job());
    w.receiver = receiver_of_tests();
    w.gate = [](const core::action& a) { return a.name.find("worker-1") == a.name.npos; };
    for (int passes = 0; passes < 6; ++passes) {
        w.pass();
    }
    w.gate = nullptr;
    REQUIRE(w.pods().size() == 2);
    REQUIRE(all_report(w, true));
    std::vector<std::string> uids;
    for (const pod_record& p : w.pods()) {
        uids.push_back(p.uid);
    }
    w.admitted.clear();  // another process takes over, where there is no receiver
    w.receiver = {};
    w.settle();
    for (const std::string& uid : uids) {
        CHECK(std::ranges::any_of(w.pods(), [&](const pod_record& p) { return p.uid == uid; }));
    }
}
