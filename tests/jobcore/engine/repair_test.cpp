// SPDX-License-Identifier: Apache-2.0
//
// A status that somebody damaged (BEHAVIOUR.md api 5.7). tests/search damages every field.
#include "engine/jobs.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace signalbox::core;
using signalbox::test::at;
using signalbox::test::c10d;
using signalbox::test::ddp;
using signalbox::test::deepspeed;
using signalbox::test::job_builder;
using signalbox::test::world;

namespace {

/// One pass that repairs, and says so; then nothing is left to repair.
void check_repaired(world& w, const std::string& field) {
    const std::size_t told = w.count_events("StatusRepaired");
    w.settle();
    REQUIRE(w.count_events("StatusRepaired") == told + 1);
    const auto said = std::ranges::find(w.events, "StatusRepaired", &event::reason);
    INFO(said->message);
    CHECK(said->warning);
    CHECK(said->message.find(field) != std::string::npos);
    w.wait(seconds{20});
    w.settle();
    CHECK(w.count_events("StatusRepaired") == told + 1);
}

}  // namespace

TEST_CASE("[api 5.7] a lost startTime is that of the first pod", "[engine]") {
    world w(ddp().run_policy(R"("activeDeadlineSeconds":100)"));
    w.start();
    const auto start = w.status().start_time;
    const auto damage = GENERATE(values<void (*)(world&)>(
        {[](world& it) { it.status().start_time.reset(); },
         [](world& it) { it.status().start_time = at(100'000); },
         [](world& it) { it.status().start_time = at(-100'000); }}
    ));
    damage(w);
    check_repaired(w, "startTime");
    CHECK(w.status().start_time == start);
    w.to(at(101));
    w.settle();
    CHECK(w.status().reason == "DeadlineExceeded");
}

TEST_CASE("[api 5.7] an end without a time has its time to live", "[engine]") {
    world w(ddp().run_policy(R"("ttlSecondsAfterFinished":50)"));
    w.start();
    w.exit("master", 0, 0);
    w.settle();
    const auto end = w.status().completion_time;
    REQUIRE(end);
    w.wait(seconds{5});
    const auto damage = GENERATE(values<void (*)(world&)>(
        {[](world& it) { it.status().completion_time.reset(); },
         [](world& it) { it.status().completion_time = at(-100'000); }}
    ));
    damage(w);
    check_repaired(w, "completionTime");
    CHECK(w.status().completion_time == end);
    w.wait(seconds{50});
    w.pass();
    CHECK(w.job_deleted);
}

TEST_CASE("[api 5.7] a size against all counts is that of the specification", "[engine]") {
    world w(ddp(1));
    w.start();
    w.status().tasks.at(1).wanted = 9;
    check_repaired(w, "tasks");
    CHECK(w.pods().size() == 2);
    CHECK(w.status().tasks.at(1).wanted == 1);
    CHECK(w.status().phase == job_phase::running);
}

TEST_CASE("[api 5.7] while the specification is invalid the list tells the size", "[engine]") {
    world w(ddp(1));
    w.start();
    w.edit().field("managedBy", "7");
    w.reload();
    w.settle();
    w.status().tasks.at(1).wanted = 9;
    check_repaired(w, "tasks");
    CHECK(w.status().tasks.at(1).wanted == 1);
}

TEST_CASE("[api 5.7] an attempt that is lost or endless is that of the pods", "[engine]") {
    world w(ddp());
    w.start();
    w.exit("worker", 0, 1);
    w.settle();
    w.run_all();
    w.settle();
    REQUIRE(w.status().attempt == 2);
    const std::string uid = w.pod("master", 0).uid;
    w.status().attempt = GENERATE(0, 1'000'000'000);
    check_repaired(w, "attempt");
    CHECK(w.status().attempt == 2);
    CHECK(w.pod("master", 0).uid == uid);
    CHECK(w.status().restarts.disruptions == 0);
}

TEST_CASE("[api 5.7] after the last number a status can hold comes 1", "[engine]") {
    world w(ddp());
    w.start();
    for (pod_record& p : w.pods()) {
        p.attempt = 999'999'999;
    }
    w.status().attempt = 999'999'999;
    w.settle();
    w.exit("worker", 0, 1);
    w.settle();
    CHECK(w.status().attempt == 1);
    w.run_all();
    w.settle();
    CHECK(w.status().phase == job_phase::running);
    CHECK_FALSE(w.has_event("StatusRepaired"));
}

TEST_CASE(
    "[api 5.7] [behaviour 5.6] an exit that settles without a time settles from now", "[engine]"
) {
    world w(c10d());
    w.start();
    w.exit("node", 1, 1);
    w.settle();
    REQUIRE(w.status().restarts.settling);
    w.status().restarts.settling->time.reset();
    w.settle();
    CHECK(w.count_events("StatusRepaired") == 1);
    w.wait(seconds{16});
    w.settle();
    CHECK_FALSE(w.status().restarts.settling);
    CHECK(w.status().backoff_count == 1);
}

TEST_CASE("[api 5.7] [behaviour 5.6] an old incident does not settle again", "[engine]") {
    world w(c10d());
    w.start();
    w.exit("node", 1, 137);
    w.settle();
    w.run_all();
    w.settle();
    w.status().restarts.settling = w.status().restarts.last;
    check_repaired(w, "restarts.settling");
    CHECK_FALSE(w.status().restarts.settling);
    CHECK(w.status().backoff_count == 1);
    CHECK(w.condition("ReplicaFailure").starts_with("False"));
}

TEST_CASE("[api 5.7] [behaviour 4.1] an end stays an end whatever says otherwise", "[engine]") {
    world w(ddp());
    w.start();
    w.exit("master", 0, 0);
    w.settle();
    w.pods().clear();
    const auto damage = GENERATE(values<void (*)(world&)>(
        {[](world& it) { it.status().phase = job_phase::running; },
         [](world& it) { it.status().phase = job_phase::none; },
         [](world& it) { it.status().conditions.clear(); }}
    ));
    damage(w);
    w.settle();
    CHECK(w.count_events("StatusRepaired") == 1);
    CHECK(w.status().phase == job_phase::succeeded);
    CHECK(w.condition("Completed") == "True/Succeeded");
    CHECK(w.condition("Succeeded") == "True/Succeeded");
    CHECK(w.condition("Failed") == "False/Succeeded");
    CHECK(w.pods().empty());
}

TEST_CASE("[api 5.7] older versions wrote no condition Succeeded", "[engine]") {
    world w(ddp());
    w.start();
    w.exit("master", 0, 0);
    w.settle();
    std::erase_if(w.status().conditions, [](const condition& c) { return c.type == "Succeeded"; });
    w.settle();
    CHECK_FALSE(w.has_event("StatusRepaired"));
}

TEST_CASE("[api 5.7] [behaviour I6] no one ends a job by its status", "[engine]") {
    world w(ddp());
    w.start();
    const auto damage = GENERATE(values<void (*)(world&)>(
        {[](world& it) { it.status().phase = job_phase::succeeded; },
         [](world& it) { it.status().phase = job_phase::failed; },
         [](world& it) { it.status().completion_time = it.now(); }}
    ));
    damage(w);
    w.settle();
    CHECK(w.count_events("StatusRepaired") == 1);
    CHECK(w.status().phase == job_phase::running);
    CHECK_FALSE(w.status().completion_time);
    CHECK(w.live_pods() == 3);
}

TEST_CASE("[api 5.7] [behaviour 6.4] no one pauses or resumes a job by its status", "[engine]") {
    world w(ddp());
    w.start();
    SECTION("pause") {
        const std::string uid = w.pod("master", 0).uid;
        w.status().phase = job_phase::paused;
        check_repaired(w, "phase");
        CHECK(w.status().attempt == 1);
        CHECK(w.pod("master", 0).uid == uid);
    }
    SECTION("resume") {
        w.edit().pause();
        w.reload();
        w.settle();
        REQUIRE(w.status().phase == job_phase::paused);
        w.status().phase = GENERATE(job_phase::running, job_phase::pending);
        check_repaired(w, "phase");
        CHECK(w.status().phase == job_phase::paused);
        CHECK(w.status().attempt == 1);
        CHECK(w.pods().empty());
    }
}

TEST_CASE("[api 5.7] [behaviour 4.1] a lost reason of an end is that of its condition") {
    const int code = GENERATE(0, 1);
    CAPTURE(code);
    world w(ddp(2, "Never"));
    w.start();
    w.exit("master", 0, code);
    w.settle();
    const std::string reason = w.status().reason;
    REQUIRE(reason == (code == 0 ? "Succeeded" : "ErrorInPod"));
    w.status().reason.clear();
    check_repaired(w, "reason");
    CHECK(w.status().reason == reason);
}

TEST_CASE("[api 5.7] before the first attempt no replica has completed or was given up") {
    world w(ddp());
    w.settle();
    w.pods().clear();
    w.status().attempt = 0;
    auto& restarts = w.status().restarts;
    restarts = {};
    auto& list = GENERATE(false, true) ? restarts.completed : restarts.given_up;
    list = {{"worker", index_set::parse("0")}};
    w.pass();
    const auto said = std::ranges::find(w.events, "StatusRepaired", &event::reason);
    REQUIRE(said != w.events.end());
    CHECK_THAT(said->message, Catch::Contains("put right: restarts,"));
    CHECK(list.empty());
}

TEST_CASE(
    "[api 5.7] [behaviour 5.2] who runs is not completed, the deciding replica never", "[engine]"
) {
    world w(ddp());
    w.start();
    w.status().restarts.completed = {
        {"master", index_set::parse("0")}, {"worker", index_set::parse("0-1")}};
    check_repaired(w, "restarts.completed");
    CHECK(w.status().restarts.completed.empty());
    w.exit("master", 0, 0);
    w.settle();
    CHECK(w.status().phase == job_phase::succeeded);
}

TEST_CASE(
    "[api 5.7] [behaviour 5.2] who has a pod that has not ended is not completed", "[engine]"
) {
    world w(ddp());
    w.settle();
    const bool replaced = GENERATE(false, true);
    CAPTURE(replaced);
    w.status().restarts.completed = {{"worker", index_set::parse("0")}};
    if (replaced) {
        w.status().restarts.replaced = {{"worker", 0, 1}};
    }
    check_repaired(w, "restarts.completed");
    CHECK(w.status().restarts.completed.empty());
    CHECK(w.pods().size() == 3);
}

TEST_CASE(
    "[api 5.7] [behaviour 5.10] no replica is given up where the policy does not", "[engine]"
) {
    world w(ddp());
    w.start();
    w.status().restarts.given_up = {{"worker", index_set::parse("1")}};
    w.vanish("worker", 1);
    check_repaired(w, "restarts.givenUp");
    CHECK(w.status().attempt == 2);
}

TEST_CASE("[api 5.7] [behaviour 10.3] who was given up by another policy stays so", "[engine]") {
    world w(ddp(2, "Never").run_policy(R"("failurePolicy":"Master")"));
    w.start();
    w.exit("worker", 1, 1);
    w.wait(seconds{4});
    w.settle();
    REQUIRE(w.status().restarts.given_up.size() == 1);
    w.edit().run_policy(R"("failurePolicy":"AnyReplica")");
    w.reload();
    w.settle();
    CHECK_FALSE(w.has_event("StatusRepaired"));
    CHECK(w.status().restarts.given_up.size() == 1);
    CHECK(w.status().phase == job_phase::running);
}

TEST_CASE("[api 5.7] [behaviour 10.3] an exit that settles is counted after an edit", "[engine]") {
    world w(c10d());
    w.start();
    w.exit("node", 1, 1);
    w.settle();
    REQUIRE(w.status().restarts.settling);
    w.edit().torchrun(0);
    w.reload();
    w.ask_deletion(w.pod("node", 1));
    w.settle();
    CHECK_FALSE(w.has_event("StatusRepaired"));
    CHECK_FALSE(w.status().restarts.settling);
    CHECK(w.status().backoff_count == 1);
    CHECK(w.status().attempt == 2);
}

TEST_CASE(
    "[api 5.7] [behaviour 10.3] who has completed need not run what it does now", "[engine]"
) {
    constexpr const char* without_ssh =
        R"({"run":{"python":["train.py"]},"otherArgs":["--no_ssh"],"slotsPerWorker":1})";
    world w(deepspeed().field("config", without_ssh));
    w.start();
    w.exit("worker", 1, 0);
    w.settle();
    REQUIRE(w.status().restarts.completed.size() == 1);
    w.edit().field("config", R"({"run":{"python":["train.py"]},"slotsPerWorker":1})");
    w.reload();
    w.settle();
    CHECK_FALSE(w.has_event("StatusRepaired"));
    CHECK(w.status().restarts.completed.size() == 1);
    CHECK(w.status().backoff_count == 0);
}

TEST_CASE("[api 5.7] [behaviour 5.2] who is beyond the size has not completed", "[engine]") {
    world w(ddp());
    w.start();
    w.exit("worker", 1, 0);
    w.settle();
    const bool completes = GENERATE(false, true);
    CAPTURE(completes);
    auto& list = completes ? w.status().restarts.completed : w.status().restarts.given_up;
    list = {{"worker", index_set::parse(completes ? "1-7,9" : "2147483645")}};
    check_repaired(w, completes ? "restarts.completed" : "restarts.givenUp");
    CHECK(
        w.status().restarts.completed ==
        std::vector<typed_indexes>{{"worker", index_set::parse("1")}}
    );
    CHECK(w.status().restarts.given_up.empty());
}

TEST_CASE("[api 5.7] [behaviour 5.10] who has completed was not given up", "[engine]") {
    world w(ddp(2, "Never").run_policy(R"("failurePolicy":"Master")"));
    w.start();
    w.exit("worker", 1, 0);
    w.settle();
    w.status().restarts.given_up = {{"worker", index_set::parse("1")}};
    check_repaired(w, "restarts.givenUp");
    CHECK(w.status().restarts.given_up.empty());
    CHECK(w.status().restarts.completed.size() == 1);
}

TEST_CASE("[api 5.7] [behaviour 5.2] an index that runs sshd is not completed", "[engine]") {
    world w(deepspeed());
    w.start();
    w.status().restarts.completed = {{"worker", index_set::parse("1")}};
    w.vanish("worker", 1);
    check_repaired(w, "restarts.completed");
    CHECK(w.status().attempt == 2);
}

TEST_CASE("[api 5.7] [behaviour 5.8] no delay is longer than the longest", "[engine]") {
    world w(ddp());
    w.start();
    w.exit("worker", 0, 1);
    w.pass();
    w.status().restarts.last->not_before = at(100'000'000);
    w.settle();
    CHECK(w.count_events("StatusRepaired") == 1);
    CHECK(w.status().restarts.last->not_before == w.now() + seconds{300});
}

TEST_CASE("[api 5.7] of two entries of one name the first counts", "[engine]") {
    const job_status s = parse_status(
        R"({"status":{"tasks":[{"type":"a","wanted":1},{"type":"a","wanted":2}],
            "conditions":[{"type":"Running","status":"True"},{"type":"Running"},{"status":"True"}],
            "restarts":{"replaced":[{"type":"a","index":1,"round":1},{"type":"a","index":1,"round":5}],
            "seen":[{"type":"a","indexes":"0"},{"type":"a","indexes":"7"}]}}})"
    );
    CHECK(s.tasks.size() == 1);
    CHECK(s.conditions.size() == 1);
    CHECK(s.restarts.replaced == std::vector<replaced_index>{{"a", 1, 1}});
    CHECK(s.restarts.seen.at(0).indexes.text() == "0");
    CHECK(s.restarts.seen.size() == 1);
}

TEST_CASE("[api 5.7] [behaviour 10.4] a type that was added later is no damage", "[engine]") {
    world w(ddp(1));
    w.start();
    w.edit().replicas("extra", 1);
    w.reload();
    w.settle();
    CHECK_FALSE(w.has_event("StatusRepaired"));
    REQUIRE(w.pods().size() == 2);
    const auto damage = GENERATE(values<void (*)(world&)>(
        {[](world& it) { it.status().tasks.at(1).wanted = 0; },
         [](world& it) { it.status().tasks.at(1).wanted = 9; },
         [](world& it) {
             it.status().tasks.at(1).wanted = 9;
             it.status().tasks.at(1).replicas.clear();
         },
         [](world& it) { it.status().tasks.at(0).type = "nonsense"; },
         [](world& it) { it.status().tasks.erase(it.status().tasks.begin()); },
         [](world& it) { it.status().tasks.erase(it.status().tasks.begin() + 1); },
         [](world& it) { it.status().tasks.clear(); }}
    ));
    damage(w);
    check_repaired(w, "tasks");
    CHECK(w.pods().size() == 2);
    CHECK(w.status().attempt == 1);
    CHECK(w.status().tasks.at(0).type == "master");
    CHECK(w.status().tasks.at(0).wanted == 1);
    CHECK(w.status().tasks.at(1).type == "worker");
    CHECK(w.status().tasks.at(1).wanted == 1);
}

TEST_CASE(
    "[api 5.7] [behaviour 10.4] nor one of an attempt whose pods are still to come", "[engine]"
) {
    world w(ddp(2));
    w.gate = [](const action& a) { return a.kind != object_kind::pod; };
    for (int i = 0; i < 4; ++i) {
        w.pass();
    }
    REQUIRE(w.pods().empty());
    REQUIRE(w.status().aggregate);
    w.edit().replicas("extra", 1);
    w.reload();
    w.status().tasks.at(1).wanted = 9;
    w.status().tasks.at(1).replicas.clear();
    w.gate = {};
    check_repaired(w, "tasks");
    CHECK(w.pods().size() == 3);
    REQUIRE(w.status().tasks.size() == 3);
    CHECK(w.status().tasks.at(1).wanted == 2);
    CHECK(w.status().tasks.at(2).wanted == 0);
}

TEST_CASE("[api 5.7] [behaviour 10.4] a repaired attempt keeps its deciding pod", "[engine]") {
    world w(job_builder("mnist").replicas("worker", 1).replicas("master", 1));
    w.start();
    REQUIRE(w.status().tasks.at(0).type == "worker");
    w.edit() = ddp(1);
    w.reload();
    w.status().tasks.at(1).wanted = 9;
    check_repaired(w, "tasks");
    CHECK(w.pods().size() == 2);
    CHECK(w.status().tasks.at(0).type == "worker");
    w.exit("master", 0, 0);
    w.settle();
    CHECK(w.status().phase == job_phase::running);
    w.exit("worker", 0, 0);
    w.settle();
    CHECK(w.status().phase == job_phase::succeeded);
}

TEST_CASE("[api 5.7] [behaviour 10.4] the decision that repairs goes by the attempt", "[engine]") {
    world w(job_builder("mnist").replicas("worker", 1).replicas("master", 1));
    w.start();
    w.edit() = ddp(1);
    w.reload();
    w.status().tasks.at(1).wanted = 9;
    w.exit("master", 0, 0);
    w.pass();
    REQUIRE(w.has_event("StatusRepaired"));
    CHECK(w.status().phase == job_phase::running);
    w.settle();
    CHECK(w.status().phase == job_phase::running);
}
