// SPDX-License-Identifier: Apache-2.0
//
// Rules of the engine that belong to no story of their own: identity, waiting, names of reasons.
#include "engine/jobs.hpp"
#include "jobcore/event_rank.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::core;
using signalbox::test::at;
using signalbox::test::c10d;
using signalbox::test::colossalai;
using signalbox::test::ddp;
using signalbox::test::refused;
using signalbox::test::world;

TEST_CASE("[behaviour 1.4] the pod of the higher attempt and round is kept", "[engine]") {
    const bool by_attempt = GENERATE(true, false);
    world w(c10d());
    w.start();
    w.wait(seconds{100});
    w.exit("node", by_attempt ? 0 : 1, 137);
    w.settle();
    w.run_all();
    auto& kept = w.pod("node", 1);
    REQUIRE((by_attempt ? kept.attempt : kept.round + 1) == 2);
    const std::string uid = kept.uid;
    auto older = kept;
    older.uid = "older";
    older.name += "-r7";  // the suffix and the age come after attempt and round
    older.creation = at(-100);
    (by_attempt ? older.attempt : older.round) -= 1;
    w.pods().push_back(older);
    w.settle();
    CHECK(std::ranges::count(w.pods(), "older", &pod_record::uid) == 0);
    CHECK(w.pod("node", 1).uid == uid);
    CHECK(w.pods().size() == 3);
}

TEST_CASE("[behaviour 4] a completed or given-up replica is up", "[engine]") {
    const bool completed = GENERATE(true, false);
    world w(ddp(2, "Never").run_policy("\"failurePolicy\":\"Master\""));
    w.settle();
    w.run(w.pod("worker", 1));
    w.run(w.pod("master", 0));
    w.settle();
    CHECK(w.status().phase == job_phase::pending);
    w.exit("worker", 0, completed ? 0 : 1);
    w.settle();
    CHECK(w.status().phase == job_phase::running);
}

TEST_CASE("[behaviour 5.10] who fails with a master that cannot be made ends the job", "[engine]") {
    world w(ddp(2).run_policy(R"("failurePolicy":"Master","backoffLimit":1)"));
    w.start();
    w.exit("worker", 0, 1);
    w.settle();
    REQUIRE(w.status().attempt == 2);
    w.vanish("master", 0);
    w.status().restarts.seen.clear();
    w.refusals.push_back(
        refused(w, object_kind::pod, pod_name(w.plan(), {0, 0, 2, 0, 0}), 422, "Invalid", 2)
    );
    w.exit("worker", 0, 1);
    w.settle();
    CHECK(w.status().phase == job_phase::failed);
    CHECK(w.status().restarts.given_up.empty());
}

TEST_CASE("[behaviour 4] an end in the future counts as now", "[engine]") {
    world w(ddp());
    w.start();
    w.wait(seconds{100});
    w.exit("worker", 0, 1);
    w.pod("worker", 0).containers.at(0).finished = w.now() + seconds{500};
    w.settle();
    CHECK(w.status().restarts.last->time == at(100));
}

TEST_CASE("[behaviour 4.12] what a pending job waits for is its reason", "[engine]") {
    SECTION("pods that start") {
        world w(ddp());
        w.settle();
        CHECK(w.status().reason == "CreatingPods");
    }
    SECTION("workers that are not ready, before the launcher") {
        world w(colossalai(2));
        w.settle();
        CHECK(w.status().phase == job_phase::pending);
        CHECK(w.status().reason == "WaitingForWorkers");
    }
    SECTION("pods of an older attempt, and then they are gone") {
        world w(ddp());
        w.settle();
        w.slow_deletes = true;
        w.edit().pause();
        w.reload();
        w.settle();
        w.edit().pause(false);
        w.reload();
        w.settle();
        CHECK(w.status().reason == "WaitingForNames");
        w.finish_deletions();
        CHECK(w.status().reason == "CreatingPods");
    }
    SECTION("a pod whose replacement has its name") {
        world w(c10d());
        w.settle();
        w.slow_deletes = true;
        w.ask_deletion(w.pod("node", 1));
        w.settle();
        CHECK(w.status().attempt == 1);
        CHECK(w.status().reason == "WaitingForNames");
        CHECK(find_condition(w.status(), "Running")->message == "an older pod is being deleted");
    }
}

TEST_CASE("[behaviour 4.15] surplus pods and pods of older attempts are not counted", "[engine]") {
    world w(c10d().elastic(1, 4, 3));
    w.start();
    w.slow_deletes = true;
    w.wait(seconds{100});
    w.edit().elastic(1, 4, 2);
    w.reload();
    w.settle();
    REQUIRE(w.pods().size() == 3);
    CHECK(*w.status().aggregate == aggregate_counts{0, 0, 2, 0, 0, 0, 0});
    CHECK(w.status().ready == "2/2");
    w.exit("node", 0, 137);
    w.settle();
    REQUIRE(w.status().attempt == 2);
    CHECK(w.status().replicas == 0);
}

TEST_CASE("[behaviour 6.5] [api runMode] pause wins over debug", "[engine]") {
    world w(ddp().debug().pause());
    w.settle();
    CHECK(w.status().phase == job_phase::paused);
    CHECK(w.pods().empty());
    w.edit().pause(false);
    w.reload();
    w.settle();
    CHECK(w.pods().size() == 3);
}

TEST_CASE(
    "[behaviour 3.9] the end of a message is quoted, printable, at most 1,024 bytes", "[engine]"
) {
    world w(ddp());
    w.start();
    w.exit("worker", 0, 1, std::string(4000, 'x') + "\x1b[31mlast\nline\x01 \xc3\xa9\xc3\xa9");
    w.pass();
    const std::string message = find_condition(w.status(), "ReplicaFailure")->message;
    CAPTURE(message);
    CHECK(message.find("last") != std::string::npos);
    CHECK(message.ends_with("\xc3\xa9\xc3\xa9"));
    CHECK(std::ranges::none_of(message, [](char c) { return static_cast<unsigned char>(c) < 0x20; })
    );
    CHECK(std::ranges::count(message, 'x') < 1024);
    CHECK(std::ranges::count(message, 'x') > 900);
}

TEST_CASE("[behaviour 3.9] of failures seen together one is named", "[engine]") {
    constexpr const char* primary = "[rank2]: ValueError: loss is nan\n";
    constexpr const char* secondary = "[rank0]: RuntimeError: Connection closed by peer\n";
    world w(ddp());
    w.start();
    const auto named = [&] { return find_condition(w.status(), "ReplicaFailure")->message; };
    SECTION("at one time: a primary error before one that follows from it") {
        w.exit("master", 0, 1, secondary);
        w.exit("worker", 0, 1, secondary);
        w.exit("worker", 1, 1, primary);
        w.pass();
        CHECK(named().ends_with("worker-1, container pytorch: rank 2: ValueError: loss is nan"));
    }
    SECTION("seen in one look: the one that ended first") {
        w.exit("worker", 1, 1, "second");
        w.wait(seconds{1});
        w.exit("worker", 0, 1, "first");
        w.pod("worker", 1).containers[0].finished =
            *w.pod("worker", 0).containers[0].finished + seconds{1};
        w.pass();
        CHECK(named().ends_with("worker-0, container pytorch exited with 1: first"));
    }
    SECTION("one that follows from it never wins, though it ended first") {
        w.exit("master", 0, 1, secondary);
        w.wait(seconds{3});
        w.exit("worker", 1, 1, primary);
        w.pass();
        CHECK(named().ends_with("loss is nan"));
    }
    SECTION("who was killed or crashed is no victim, whatever its log ends with") {
        const int code = GENERATE(137, 139);
        w.exit("master", 0, 1, secondary);
        w.wait(seconds{1});
        w.exit("worker", 1, code, secondary);
        w.pass();
        CHECK(
            named().find("worker-1, container pytorch exited with " + std::to_string(code)) !=
            std::string::npos
        );
    }
    SECTION("its memory limit goes before what others say") {
        w.exit("master", 0, 1, primary);
        w.wait(seconds{1});
        w.exit("worker", 1, 137, secondary);
        w.pod("worker", 1).containers[0].reason = "OOMKilled";
        w.pass();
        CHECK(
            named().find("worker-1, container pytorch exited with 137 (OOMKilled)") !=
            std::string::npos
        );
    }
    SECTION("another code of a victim makes it none") {
        w.exit("worker", 1, 134, secondary);
        w.wait(seconds{1});
        w.exit("master", 0, 1, primary);
        w.pass();
        CHECK(named().ends_with("loss is nan"));
    }
}

TEST_CASE("[behaviour 11.2] an event keeps whose failure it is, and its end", "[engine]") {
    world w(ddp());
    w.start();
    w.exit("worker", 0, 1, std::string(2000, 'x') + "the end");
    w.settle();
    const auto& told = w.events;
    const auto it = std::ranges::find(told, "ReplicaFailed", &event::reason);
    REQUIRE(it != told.end());
    CHECK(it->message.size() < 1024);
    CHECK(it->message.starts_with("pod mnist-"));
    CHECK(it->message.ends_with("xxxthe end"));
}

TEST_CASE("[behaviour 11.1] what we override is told once, with the acceptance", "[engine]") {
    signalbox::test::replica worker;
    worker.pod_more = R"("hostname":"mine","restartPolicy":"Always")";
    world w(signalbox::test::job_builder("mnist").replicas(worker));
    w.pass();
    REQUIRE(w.events.size() == 2);
    CHECK(w.events[0].reason == "Created");
    CHECK(w.events[1].reason == "FieldOverridden");
    CHECK(w.events[1].warning);
    for (const std::string_view field :
         {"/template/spec/hostname", "/template/spec/restartPolicy"}) {
        CHECK(w.events[1].message.find(field) != std::string::npos);
    }
    w.start();
    CHECK(w.count_events("FieldOverridden") == 1);
}

TEST_CASE(
    "[behaviour 11.3] the end of a job goes before its state, that before details", "[engine]"
) {
    const auto rank = [](const char* reason) { return rank_of({false, reason, "m"}); };
    for (const char* reason : {"Succeeded", "Failed", "InvalidSpec"}) {
        CHECK(rank(reason) == event_rank::end);
    }
    for (const char* reason : {"NewReplica", "Start", "CleanedUp"}) {
        CHECK(rank(reason) == event_rank::detail);
    }
    for (const char* reason : {"Created", "Running", "ReplicaFailed", "Restarting", "SecretLost"}) {
        CHECK(rank(reason) == event_rank::state);
    }
}

TEST_CASE("[behaviour 11.2] a restart says which one it is, and how long it waits", "[engine]") {
    world w(ddp());
    w.start();
    std::vector<std::string> told;
    const auto lose = [&](auto how) {
        how();
        w.settle();
        w.finish_deletions();
        while (w.pods().size() < 3 && w.wake()) {
        }
        w.run_all();
    };
    for (int i = 0; i < 3; ++i) {
        lose([&] { w.exit("worker", 0, 1); });
    }
    w.wait(seconds{5});
    lose([&] { w.ask_deletion(w.pod("worker", 0), 0); });
    w.wait(seconds{61});
    lose([&] { w.ask_deletion(w.pod("worker", 0), 0); });
    for (const auto& e : w.events) {
        if (e.reason == "Restarting") {
            told.push_back(e.message);
        }
    }
    CHECK(
        told ==
        std::vector<std::string>{
            "Restarting all replicas: restart 1 of 3",
            "Restarting all replicas: restart 2 of 3, in 10 s",
            "Restarting all replicas: restart 3 of 3, in 20 s",
            "Restarting all replicas: not counted, in 10 s",
            "Restarting all replicas: not counted"}
    );
}
