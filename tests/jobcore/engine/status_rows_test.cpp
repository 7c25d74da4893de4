// SPDX-License-Identifier: Apache-2.0
//
// The rows of the status (BEHAVIOUR.md api 5): what a story leaves in each of them.
#include "engine/jobs.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::core;
using signalbox::test::at;
using signalbox::test::c10d;
using signalbox::test::ddp;
using signalbox::test::job_builder;
using signalbox::test::world;

namespace {

std::string json(const world& w) {
    return format_status(w.status(), job_kind::pytorch);
}

bool has(const world& w, std::string_view part) {
    INFO(json(w));
    return json(w).find(part) != std::string::npos;
}

std::string indexes(const std::vector<typed_indexes>& list) {
    std::string out;
    for (const auto& t : list) {
        out += t.type + ":" + t.indexes.text() + ";";
    }
    return out;
}

}  // namespace

TEST_CASE("[api status.tasks.restartCount] incidents in which the type failed", "[engine]") {
    world w(ddp().run_policy("\"backoffLimit\":9"));
    w.start();
    CHECK_FALSE(has(w, "restartCount"));
    w.exit("worker", 0, 1);
    w.exit("worker", 1, 1);
    w.settle();
    w.run_all();
    CHECK(has(w, R"({"type":"worker","restartCount":1,)"));
    CHECK(has(w, R"({"type":"master","wanted":1,)"));
    w.wait(seconds{1000});
    w.exit("worker", 1, 1);
    w.exit("master", 0, 1);
    w.settle();
    CHECK(w.status().tasks[0].restart_count == 1);
    CHECK(w.status().tasks[1].restart_count == 2);
    w.run_all();
    // A disruption is no failure.
    w.wait(seconds{1000});
    w.ask_deletion(w.pod("worker", 0), 0);
    w.settle();
    CHECK(w.status().tasks[1].restart_count == 2);
}

TEST_CASE("[api status.tasks.replicas] pods by name, their containers in order", "[engine]") {
    world w(ddp(1));
    w.settle();
    auto& pod = w.pod("worker", 0);
    pod.containers.push_back({"log", container_state::running, false, false, 0, "", "", {}, {}});
    pod.containers.push_back({"setup", container_state::terminated, true, false, 0, "", "", {}, {}}
    );
    w.run(pod);
    w.settle();
    const auto& replica = w.status().tasks[1].replicas.at(0);
    CHECK(replica.name == pod.name);
    CHECK(replica.uid == pod.uid);
    CHECK(replica.phase == "Running");
    REQUIRE(replica.containers.size() == 2);
    CHECK(replica.containers[0] == container_status{"pytorch", "Running", {}});
    CHECK(replica.containers[1] == container_status{"log", "Running", {}});
    CHECK_FALSE(has(w, "exitCode"));
    w.exit(pod, 0);
    w.settle();
    CHECK(has(w, R"("containers":[{"name":"pytorch","state":"Terminated","exitCode":0})"));
    w.vanish("worker", 0);
    w.exit("master", 0, 0);
    w.settle();
    CHECK(w.status().tasks[1].replicas.at(0).phase == "Deleted");
    world creating(ddp(1));
    creating.pass();
    CHECK(creating.status().tasks[1].replicas.at(0).phase == "Creating");
}

TEST_CASE(
    "[api status.aggregate] [behaviour I11] always all seven, their sum is what is wanted",
    "[engine]"
) {
    world w(ddp(4));
    w.settle();
    CHECK(has(
        w,
        R"("aggregate":{"creating":5,"pending":0,"running":0,"succeeded":0,"failed":0,"unknown":0,"deleted":0})"
    ));
    const auto counts = [&] {
        const aggregate_counts& c = *w.status().aggregate;
        return std::vector<int>{
            c.creating, c.pending, c.running, c.succeeded, c.failed, c.unknown, c.deleted};
    };
    w.run_all();
    w.settle();
    CHECK(counts() == std::vector<int>{0, 0, 5, 0, 0, 0, 0});
    w.exit("worker", 0, 0);
    w.pod("worker", 3).phase = pod_phase::unknown;
    w.settle();
    CHECK(counts() == std::vector<int>{0, 0, 3, 1, 0, 1, 0});
    w.vanish("worker", 0);
    w.settle();
    CHECK(counts() == std::vector<int>{0, 0, 3, 1, 0, 1, 0});  // it was completed
    w.exit("worker", 1, 3);
    w.exit("master", 0, 0);
    w.settle();
    CHECK(counts() == std::vector<int>{0, 0, 1, 1, 1, 1, 1});
}

TEST_CASE("[behaviour I11] a failed and a leaving pod count once", "[engine]") {
    world w(ddp(4));
    w.start();
    w.exit("worker", 1, 1);
    w.ask_deletion(w.pod("worker", 2));
    for (int i = 0; i < 12; ++i) {
        w.pass();
        const aggregate_counts& c = *w.status().aggregate;
        CAPTURE(i);
        CHECK(
            c.creating + c.pending + c.running + c.succeeded + c.failed + c.unknown + c.deleted == 5
        );
    }
}

TEST_CASE("[api status.summary] generation, times, duration, ready, reason", "[engine]") {
    world w(ddp(2).expected(3));
    w.start();
    CHECK(w.status().observed_generation == 1);
    w.edit().run_policy("\"backoffLimit\":1");
    w.reload();
    w.settle();
    CHECK(w.status().observed_generation == 2);
    CHECK(w.status().ready == "3/3");
    CHECK(has(w, R"("startTime":"2026-01-01T00:00:00Z")"));
    CHECK_FALSE(has(w, "completionTime"));
    CHECK_FALSE(has(w, "duration"));
    w.wait(seconds{3725});
    w.exit("master", 0, 0);
    w.settle();
    CHECK(has(w, R"("completionTime":"2026-01-01T01:02:05Z","duration":"1h2m5s")"));
    CHECK(w.status().reason == "Succeeded");
}

TEST_CASE(
    "[api status.scale] [behaviour 7.5] pods that neither ended nor are leaving", "[engine]"
) {
    world w(job_builder("mnist").replicas("node", 4).torchrun(3));
    w.settle();
    CHECK(w.status().replicas == 4);
    CHECK(
        w.status().selector ==
        "tensorstack.dev/owner-name=mnist,batch.tensorstack.dev/job-uid=" + w.plan().job_uid
    );
    w.run_all();
    w.slow_deletes = true;
    w.wait(seconds{100});
    w.exit("node", 1, 0);
    w.ask_deletion(w.pod("node", 2));
    w.settle();
    CHECK(w.status().replicas == 2);
}

TEST_CASE(
    "[api status.nextTransition] [behaviour 12.9] the first of the times that are waited for",
    "[engine]"
) {
    world w(ddp().run_policy("\"activeDeadlineSeconds\":1000"));
    w.start();
    CHECK(w.status().next_transition == transition{at(1000), "Deadline"});
    w.wait(seconds{5});
    w.ask_deletion(w.pod("worker", 0), 0);
    w.settle();
    w.finish_deletions();
    CHECK(w.status().next_transition == transition{at(15), "RestartDelay"});
    CHECK(w.look().wake_up == at(15));
    w.wake();
    CHECK(w.status().next_transition == transition{at(1000), "Deadline"});
    world calm(ddp());
    calm.start();
    CHECK_FALSE(calm.status().next_transition);
    CHECK_FALSE(calm.look().wake_up);
}

TEST_CASE("[api status.attempt] raised by scope Job and resumes, by nothing else", "[engine]") {
    world paused(ddp().pause());
    paused.settle();
    CHECK_FALSE(has(paused, "\"attempt\""));
    world w(c10d());
    w.start();
    CHECK(w.status().attempt == 1);
    w.wait(seconds{100});
    w.exit("node", 1, 137);
    w.settle();
    w.run_all();
    CHECK(w.status().attempt == 1);
    w.wait(seconds{100});
    w.exit("node", 0, 137);
    w.settle();
    CHECK(w.status().attempt == 2);
    w.edit().pause();
    w.reload();
    w.settle();
    CHECK(w.status().attempt == 2);
    w.edit().pause(false);
    w.reload();
    w.settle();
    CHECK(w.status().attempt == 3);
}

TEST_CASE("[api status.tasks.wanted] [behaviour 7.2] the size that is in force", "[engine]") {
    world w(ddp());
    w.start();
    CHECK(has(w, R"("type":"worker","wanted":2)"));
    // The server's rules forbid this edit; one that got past them waits for the next attempt
    // (10.2).
    w.edit() = ddp(4);
    w.reload();
    w.settle();
    CHECK(w.status().tasks[1].wanted == 2);
    CHECK(w.status().ready == "3/3");
    w.exit("worker", 0, 1);
    w.settle();
    CHECK(w.status().tasks[1].wanted == 4);
    CHECK(w.pods().size() == 5);
}

TEST_CASE(
    "[api status.restarts.disruptions] [api status.restarts.freeStreak] free incidents", "[engine]"
) {
    world w(ddp());
    w.start();
    CHECK_FALSE(has(w, "\"restarts\":{\"disruptions\""));
    for (int i = 1; i <= 2; ++i) {
        w.wait(seconds{5});
        w.ask_deletion(w.pod("worker", 0), 0);
        w.settle();
        w.finish_deletions();
        w.wake();
        w.run_all();
        CHECK(w.status().restarts.disruptions == i);
        CHECK(w.status().restarts.free_streak == i);
    }
    CHECK(has(w, "\"disruptions\":2"));
    CHECK(has(w, "\"freeStreak\":2"));
    w.wait(seconds{60});
    w.ask_deletion(w.pod("worker", 0), 0);
    w.settle();
    CHECK(w.status().restarts.disruptions == 3);
    CHECK(w.status().restarts.free_streak == 0);
}

TEST_CASE("[api status.restarts.seen] pods of this attempt and round", "[engine]") {
    world w(c10d(4));
    w.start();
    CHECK(indexes(w.status().restarts.seen) == "node:0-3;");
    CHECK(has(w, R"("seen":[{"type":"node","indexes":"0-3"}])"));
    w.wait(seconds{100});
    w.exit("node", 2, 137);
    CHECK(indexes(w.look().status->restarts.seen) == "node:0-1,3;");
    w.settle();
    CHECK(indexes(w.status().restarts.seen) == "node:0-3;");
    w.exit("node", 0, 137);
    CHECK(w.look().status->restarts.seen.empty());
}

TEST_CASE("[api status.restarts.givenUp] what failed for good in this attempt", "[engine]") {
    world w(ddp(3, "Never").run_policy("\"failurePolicy\":\"Master\""));
    w.start();
    w.exit("worker", 0, 1);
    w.exit("worker", 2, 1);
    w.settle();
    CHECK(has(w, R"("givenUp":[{"type":"worker","indexes":"0,2"}])"));
    w.edit().pause();
    w.reload();
    w.settle();
    w.edit().pause(false);
    w.reload();
    w.settle();
    CHECK(w.status().restarts.given_up.empty());
    CHECK(w.pods().size() == 4);
}

TEST_CASE("[api status.restarts.streak] [api status.backoffCount] one falls back", "[engine]") {
    world w(ddp().run_policy("\"backoffLimit\":9"));
    w.start();
    for (const auto& [pause, streak, count] :
         {std::tuple{5, 1, 1}, std::tuple{5, 2, 2}, std::tuple{600, 1, 3}}) {
        w.wait(seconds{pause});
        w.exit("worker", 0, 1);
        w.settle();
        CHECK(w.status().restarts.streak == streak);
        CHECK(w.status().backoff_count == count);
        while (w.pods().size() < 3 && w.wake()) {
        }
        w.run_all();
    }
}

TEST_CASE("[api status.restarts.last] the last incident, at most 16 of its pods", "[engine]") {
    world w(ddp(20).run_policy("\"backoffLimit\":9"));
    w.start();
    w.wait(milliseconds{5600});
    for (int i = 0; i < 20; ++i) {
        w.exit("worker", i, 7, "boom");
    }
    w.pod("worker", 3).containers.at(0).finished = at(2);
    w.settle();
    const auto& last = *w.status().restarts.last;
    CHECK(last.time == at(5));
    CHECK(last.cause == "PodFailed");
    CHECK(last.reason == "Error");
    CHECK(last.scope == restart_scope::job);
    CHECK(last.counted);
    CHECK(last.attempt == 2);
    CHECK(last.pods.size() == 16);
    CHECK(last.more == 4);
    CHECK(last.pods.front().exit_code == 7);
    CHECK(has(w, R"("scope":"Job","counted":true,"attempt":2)"));
    CHECK(has(w, R"("more":4)"));
    CHECK_FALSE(has(w, "\"settling\":"));
}

TEST_CASE("[api status.restarts.replaced] rounds, until the next attempt", "[engine]") {
    world w(c10d());
    w.start();
    for (int round = 1; round <= 2; ++round) {
        w.wait(seconds{1000});
        w.exit("node", 2, 137);
        w.settle();
        w.run_all();
        CHECK(w.status().restarts.replaced == std::vector<replaced_index>{{"node", 2, round}});
    }
    CHECK(has(w, R"("replaced":[{"type":"node","index":2,"round":2}])"));
    w.exit("node", 0, 137);
    w.settle();
    CHECK(w.status().restarts.replaced.empty());
}

TEST_CASE("[api status.restarts.renamed] names in use, and their counter", "[engine]") {
    world w(c10d());
    w.start();
    w.slow_deletes = true;
    for (int k = 1; k <= 2; ++k) {
        w.wait(seconds{1000});
        w.ask_deletion(w.pod("node", k), 0);
        w.settle();
        w.wait(seconds{61});
        w.settle();
        CHECK(w.status().restarts.renames == k);
        CHECK(w.pod("node", k).name.ends_with("-r" + std::to_string(k)));
        w.run_all();
    }
    CHECK(has(
        w,
        R"("renamed":[{"type":"node","index":1,"k":1},{"type":"node","index":2,"k":2}],"renames":2)"
    ));
    // The entry goes with the next round of its index; the counter stays.
    w.wait(seconds{1000});
    w.exit("node", 1, 137);
    w.pass();
    CHECK(w.status().restarts.renamed == std::vector<renamed_index>{{"node", 2, 2}});
    CHECK(w.status().restarts.renames == 2);
}

TEST_CASE("[api status.restarts.completed] non-masters that exited 0", "[engine]") {
    world w(ddp(4));
    w.start();
    w.exit("worker", 0, 0);
    w.exit("worker", 1, 0);
    w.exit("worker", 3, 0);
    w.settle();
    CHECK(has(w, R"("completed":[{"type":"worker","indexes":"0-1,3"}])"));
    w.exit("worker", 2, 1);
    w.settle();
    CHECK(w.status().restarts.completed.empty());
    CHECK(w.status().attempt == 2);
}
