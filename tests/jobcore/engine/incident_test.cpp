// SPDX-License-Identifier: Apache-2.0
//
// Failures, disruptions, restarts (BEHAVIOUR.md 5).
#include "engine/jobs.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::core;
using signalbox::test::at;
using signalbox::test::c10d;
using signalbox::test::ddp;
using signalbox::test::job_builder;
using signalbox::test::world;

TEST_CASE(
    "[behaviour 5.3] [behaviour 12.3] an incident is on record before anything acts on it",
    "[engine]"
) {
    world w(ddp());
    w.start();
    w.exit("worker", 0, 1);
    w.exit("worker", 1, 1);
    const auto d = w.look();
    REQUIRE(d.status);
    CHECK(d.stages.empty());
    CHECK(d.status->backoff_count == 1);
    CHECK(d.status->attempt == 2);
    CHECK(d.status->restarts.seen.empty());
    REQUIRE(d.status->restarts.last);
    CHECK(d.status->restarts.last->pods.size() == 2);
    CHECK(d.status->restarts.last->attempt == 2);
    CHECK(d.status->restarts.last->counted);
    CHECK(d.status->tasks[1].restart_count == 1);
    CHECK(d.status->tasks[0].restart_count == 0);
}

TEST_CASE("[behaviour 5.5] a worker that exits 1 twice costs two of the budget", "[engine]") {
    world w(ddp());
    w.start();
    for (int i = 1; i <= 2; ++i) {
        w.wait(seconds{30});
        w.exit("worker", 0, 1);
        w.settle();
        while (w.pods().size() < 3 && w.wake()) {
        }
        CHECK(w.status().phase == job_phase::pending);
        CHECK(w.status().reason == "Restarting");
        w.run_all();
        CHECK(w.status().phase == job_phase::running);
        CHECK(w.status().backoff_count == i);
        CHECK(w.status().attempt == i + 1);
    }
    w.exit("master", 0, 0);
    w.settle();
    CHECK(w.status().phase == job_phase::succeeded);
    CHECK(w.status().backoff_count == 2);
}

TEST_CASE(
    "[behaviour 5.10] [behaviour I7] the budget is never exceeded, also a budget of 0", "[engine]"
) {
    const int limit = GENERATE(0, 1, 3);
    world w(ddp().run_policy("\"backoffLimit\":" + std::to_string(limit)));
    w.start();
    for (int i = 0; i < limit; ++i) {
        w.exit("worker", 0, 1);
        w.settle();
        while (w.pods().size() < 3 && w.wake()) {
        }
        w.run_all();
    }
    CHECK(w.status().phase == job_phase::running);
    w.exit("worker", 0, 1);
    w.settle();
    CHECK(w.status().phase == job_phase::failed);
    CHECK(w.status().reason == "BackoffLimitExceeded");
    CHECK(w.condition("Failed") == "True/BackoffLimitExceeded");
    CHECK(w.status().backoff_count == limit);
    CHECK(w.condition("ReplicaFailure") == "True/ReplicaFailed");
}

TEST_CASE("[behaviour 5.5] Never and ExitCode fail where the code says so", "[engine]") {
    struct row {
        const char* policy;
        int code;
        bool restarts;
    };
    const auto r = GENERATE(
        row{"Never", 1, false},
        row{"Never", 137, false},
        row{"OnFailure", 1, true},
        row{"Always", 1, true},
        row{"ExitCode", 1, false},
        row{"ExitCode", 255, false},
        row{"ExitCode", 130, true},
        row{"ExitCode", 137, true},
        row{"ExitCode", 138, true},
        row{"ExitCode", 143, true},
        row{"ExitCode", 247, false}
    );
    const bool master = GENERATE(true, false);
    CAPTURE(r.policy, r.code, master);
    world w(ddp(2, r.policy));
    w.start();
    w.exit(master ? "master" : "worker", 0, r.code);
    w.settle();
    // Under ExitCode a pod that ends within 2 s may allow what this one does not.
    CHECK((w.status().phase == job_phase::failed) == (std::string_view(r.policy) == "Never"));
    w.wait(seconds{3});
    w.settle();
    CHECK((w.status().phase == job_phase::failed) != r.restarts);
    CHECK(w.status().backoff_count == (r.restarts ? 1 : 0));
    if (!r.restarts) {
        CHECK(w.status().reason == "ErrorInPod");
    }
}

TEST_CASE(
    "[behaviour 3.9] torchrun's error file gives the rank's own code and message", "[engine]"
) {
    world w(job_builder("mnist").replicas("node", 2, "ExitCode").torchrun(0));
    w.start();
    w.exit(
        "node",
        1,
        1,
        R"({"message":{"message":"RuntimeError: CUDA out of memory","extraInfo":{},"errorCode":137}})"
    );
    w.pass();
    CHECK(w.status().backoff_count == 1);
    CHECK(w.status().restarts.last->pods.at(0).exit_code == 137);
    const auto* c = find_condition(w.status(), "ReplicaFailure");
    REQUIRE(c != nullptr);
    CHECK(c->message.find("RuntimeError: CUDA out of memory") != std::string::npos);
}

TEST_CASE(
    "[behaviour 5.5] the pods that failed first decide, ends within 2 s together", "[engine]"
) {
    world w(job_builder("mnist").replicas("master", 1, "Never").replicas("worker", 1, "OnFailure"));
    w.start();
    w.exit("worker", 0, 1);
    const int gap = GENERATE(2, 3, -2, -3);
    auto& worker_end = w.pod("worker", 0).containers.at(0).finished;
    w.to(at(100));
    w.exit("master", 0, 1);
    worker_end = at(100 + gap);
    w.to(at(200));
    w.settle();
    // gap 3: the master was first by more than 2 s, and its policy forbids a restart.
    CHECK((w.status().phase == job_phase::failed) == (gap == 3));
}

TEST_CASE("[behaviour 5.4] a disruption is free whatever policy and budget say", "[engine]") {
    world w(ddp(2, "Never").run_policy("\"backoffLimit\":0"));
    w.start();
    w.wait(seconds{100});
    const int kind = GENERATE(0, 1, 2, 3, 4);
    CAPTURE(kind);
    auto& pod = w.pod("worker", 0);
    switch (kind) {
        case 0:  // deleted by somebody
            w.ask_deletion(pod);
            break;
        case 1:  // vanished
            w.vanish("worker", 0);
            break;
        case 2:  // evicted through the API: the condition, then the exit
            pod.disruption_target = true;
            w.exit(pod, 137);
            break;
        case 3:  // node shutdown: failed without a code
            pod.containers.clear();
            pod.phase = pod_phase::failed;
            pod.reason = "Terminated";
            break;
        case 4:  // drained: saved and exited 0 after its deletion was asked for
            w.ask_deletion(pod);
            w.wait(seconds{1});
            w.exit(pod, 0);
            break;
        default:
            break;
    }
    w.settle();
    CHECK(w.status().phase == job_phase::pending);
    CHECK(w.status().backoff_count == 0);
    CHECK(w.status().restarts.disruptions == 1);
    CHECK_FALSE(w.status().restarts.last->counted);
    w.finish_deletions();
    CHECK(w.pods().size() == 3);
    w.run_all();
    CHECK(w.status().phase == job_phase::running);
}

TEST_CASE("[behaviour 5.4] a pod that broke its own limit counts", "[engine]") {
    world w(ddp().run_policy("\"backoffLimit\":5"));
    w.start();
    w.wait(seconds{100});
    auto& pod = w.pod("worker", 0);
    const int kind = GENERATE(0, 1, 2);
    pod.phase = pod_phase::failed;
    if (kind == 0) {
        pod.containers.clear();
        pod.reason = "Evicted";
    } else if (kind == 1) {
        pod.containers.clear();
        pod.reason = "DeadlineExceeded";
    } else {
        pod.containers.at(0).state = container_state::waiting;
        pod.containers.push_back(
            {"setup", container_state::terminated, true, false, 3, "Error", "no disk", {}, w.now()}
        );
    }
    w.settle();
    CHECK(w.status().backoff_count == 1);
    CHECK(w.status().restarts.disruptions == 0);
}

TEST_CASE("[behaviour 5.4] disruption target without deletion is no loss", "[engine]") {
    world w(ddp());
    w.start();
    w.pod("worker", 0).disruption_target = true;
    w.settle();
    CHECK(w.status().attempt == 1);
    CHECK(w.status().phase == job_phase::running);
}

TEST_CASE("[behaviour 5.4] free restarts of short-lived pods wait longer and longer", "[engine]") {
    world w(ddp());
    w.start();
    milliseconds wanted = seconds{10};
    for (int i = 0; i < 8; ++i) {
        w.wait(seconds{5});
        const instant lost = w.now();
        w.ask_deletion(w.pod("worker", 0), 0);
        w.settle();
        w.finish_deletions();
        REQUIRE(w.status().restarts.last->not_before);
        CHECK(*w.status().restarts.last->not_before == lost + wanted);
        CHECK(w.pods().empty());
        CHECK(w.status().next_transition->reason == "RestartDelay");
        w.wake();
        CHECK(w.now() == lost + wanted);
        w.run_all();
        CHECK(w.pods().size() == 3);
        wanted = std::min<milliseconds>(wanted * 2, seconds{300});
    }
    CHECK(w.status().restarts.free_streak == 8);
    w.wait(seconds{61});
    w.ask_deletion(w.pod("worker", 0), 0);
    w.settle();
    CHECK(w.status().restarts.free_streak == 0);
    CHECK_FALSE(w.status().restarts.last->not_before);
}

TEST_CASE(
    "[behaviour 5.8] [behaviour I15] counted restarts: none, 10 s, doubling, reset after 10 min",
    "[engine]"
) {
    world w(ddp().run_policy("\"backoffLimit\":100"));
    w.start();
    const auto fail = [&] {
        w.exit("worker", 0, 1);
        w.settle();
        const auto held = w.status().restarts.last->not_before;
        const instant failed = w.now();
        while (w.pods().size() < 3 && w.wake()) {
        }
        w.run_all();
        return held ? *held - failed : milliseconds{0};
    };
    w.wait(seconds{5});
    CHECK(fail() == seconds{0});
    CHECK(fail() == seconds{10});
    CHECK(fail() == seconds{20});
    w.wait(seconds{599});
    CHECK(fail() == seconds{40});
    w.wait(seconds{600});
    CHECK(fail() == seconds{0});
    CHECK(w.status().restarts.streak == 1);
    CHECK(w.status().backoff_count == 5);
    for (int i = 0; i < 10; ++i) {
        fail();
    }
    CHECK(fail() == seconds{300});
}

TEST_CASE("[behaviour 5.7] scope Job waits until every old pod is gone", "[engine]") {
    world w(ddp());
    w.start();
    w.slow_deletes = true;
    w.wait(seconds{70});
    w.exit("worker", 0, 1);
    w.settle();
    CHECK(w.pods().size() == 3);
    CHECK(w.status().attempt == 2);
    CHECK(w.status().reason == "Restarting");
    const auto last = std::prev(w.pods().end());
    const std::string name = last->name;
    w.pods().remove_if([&](const pod_record& p) { return p.name != name; });
    w.settle();
    CHECK(w.pods().size() == 1);
    w.finish_deletions();
    CHECK(w.pods().size() == 3);
    for (const auto& p : w.pods()) {
        CHECK(p.attempt == 2);
    }
}

TEST_CASE("[behaviour 5.6] c10d: a killed pod is replaced alone", "[engine]") {
    world w(c10d());
    w.start();
    w.wait(seconds{100});
    const std::string other = w.pod("node", 2).uid;
    const int code = GENERATE(137, 143);
    w.exit("node", 1, code);
    w.settle();
    CHECK(w.status().attempt == 1);
    CHECK(w.status().backoff_count == 1);
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.status().restarts.replaced == std::vector<replaced_index>{{"node", 1, 1}});
    CHECK(w.pod("node", 1).round == 1);
    CHECK(w.pod("node", 2).uid == other);
    CHECK(w.pods().size() == 3);
    w.run_all();
    CHECK(w.condition("ReplicaFailure") == "False/NoFailure");
}

TEST_CASE("[behaviour 5.6] c10d: the whole job where one pod cannot rejoin", "[engine]") {
    const int kind = GENERATE(0, 1, 2, 3);
    world w(kind == 2 ? c10d(3, 0) : c10d());
    w.start();
    w.wait(seconds{100});
    if (kind == 0) {  // pod 0 is the store
        w.exit("node", 0, 137);
    } else if (kind == 1) {  // pod 0 exits by itself while another settles
        w.exit("node", 1, 1);
        w.settle();
        w.wait(seconds{1});
        w.exit("node", 0, 1);
    } else if (kind == 2) {  // no one may restart
        w.exit("node", 1, 137);
    } else {  // pod 0 has left the barrier
        w.exit("node", 1, 137);
        w.exit("node", 0, 0);
    }
    w.settle();
    CHECK(w.status().attempt == 2);
    CHECK(w.status().restarts.replaced.empty());
}

TEST_CASE("[behaviour 5.6] etcd: pod 0 is replaced like any other", "[engine]") {
    world w(job_builder("mnist").replicas("node", 2).torchrun(
        3, R"("rdzvBackend":"etcd-v2","extraOptions":["--rdzv_endpoint=etcd:2379"])"
    ));
    w.start();
    w.exit("node", 0, 137);
    w.settle();
    CHECK(w.status().attempt == 1);
    CHECK(w.status().restarts.replaced == std::vector<replaced_index>{{"node", 0, 1}});
}

TEST_CASE("[api runPolicy.restartScope] replaces the choice by launch mode", "[engine]") {
    SECTION("Replica in plain mode") {
        world w(ddp().run_policy("\"restartScope\":\"Replica\""));
        w.start();
        w.exit("worker", 1, 1);
        w.settle();
        CHECK(w.status().attempt == 1);
        CHECK(w.pod("worker", 1).round == 1);
    }
    SECTION("Job under c10d") {
        world w(c10d().run_policy("\"restartScope\":\"Job\""));
        w.start();
        w.exit("node", 1, 137);
        w.settle();
        CHECK(w.status().attempt == 2);
    }
}

TEST_CASE("[behaviour 5.7] the 257th replaced index makes the incident scope Job", "[engine]") {
    world w(c10d(300).run_policy("\"backoffLimit\":10"));
    w.start();
    for (int i = 1; i <= 256; ++i) {
        w.ask_deletion(w.pod("node", i), 0);
    }
    w.wait(seconds{100});
    w.settle();
    CHECK(w.status().attempt == 1);
    CHECK(w.status().restarts.replaced.size() == 256);
    w.finish_deletions();
    while (w.pods().size() < 300 && w.wake()) {
    }
    w.run_all();
    w.wait(seconds{100});
    w.ask_deletion(w.pod("node", 257), 0);
    w.settle();
    CHECK(w.status().attempt == 2);
    CHECK(w.status().restarts.replaced.empty());
}

TEST_CASE(
    "[behaviour 5.3] [behaviour 12.6] a vanished pod is confirmed by a live read first", "[engine]"
) {
    world w(ddp());
    w.start();
    const std::string name = w.pod("worker", 0).name;
    w.vanish("worker", 0);
    const auto d = w.look();
    CHECK_FALSE((d.status && d.status->restarts.last));
    REQUIRE(d.stages.size() == 1);
    CHECK(d.stages[0].at(0).what() == verb::confirm);
    CHECK(d.stages[0].at(0).name == name);
    w.absences.push_back({object_kind::pod, name});
    const auto confirmed = w.look();
    REQUIRE((confirmed.status && confirmed.status->restarts.last));
    CHECK(confirmed.status->restarts.last->cause == "PodVanished");
}

TEST_CASE("[behaviour 5.3] a pod that was never seen is no loss", "[engine]") {
    world w(ddp());
    w.settle();
    w.status().restarts.seen.clear();  // crash before the deferred write
    w.vanish("worker", 0);
    w.settle();
    CHECK(w.pods().size() == 3);
    CHECK(w.status().restarts.disruptions == 0);
    CHECK(w.status().attempt == 1);
}

TEST_CASE("[behaviour 5.9] Always: a non-master that exits 0 is replaced alone, free", "[engine]") {
    world w(job_builder("mnist").replicas("master", 1).replicas("worker", 2, "Always"));
    w.start();
    w.wait(seconds{4});
    w.exit("worker", 1, 0);
    w.settle();
    CHECK(w.pods().size() == 3);
    REQUIRE(w.look().wake_up);
    CHECK(*w.look().wake_up == at(10));
    w.wake();
    CHECK(w.pod("worker", 1).round == 1);
    CHECK(w.status().attempt == 1);
    CHECK(w.status().backoff_count == 0);
    CHECK(w.status().restarts.disruptions == 0);
    CHECK_FALSE(w.status().restarts.last);
}

TEST_CASE("[behaviour 5.10] failurePolicy Master gives up a worker and goes on", "[engine]") {
    world w(ddp(2, "Never").run_policy("\"failurePolicy\":\"Master\""));
    w.start();
    w.exit("worker", 0, 1);
    w.settle();
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.condition("ReplicaFailure") == "True/ReplicaFailed");
    const std::string told = find_condition(w.status(), "ReplicaFailure")->message;
    CHECK(told.find("worker-0") != told.npos);
    w.vanish("worker", 0);
    w.settle();
    CHECK(find_condition(w.status(), "ReplicaFailure")->message == told);
    CHECK(w.pods().size() == 2);
    CHECK(w.status().attempt == 1);
    w.exit("master", 0, 0);
    w.settle();
    CHECK(w.status().phase == job_phase::succeeded);
}

TEST_CASE("[behaviour 5.8] a later incident never lowers a delay", "[engine]") {
    world w(c10d());
    w.start();
    w.wait(seconds{5});
    w.ask_deletion(w.pod("node", 1), 0);
    w.settle();
    const auto held = w.status().restarts.last->not_before;
    REQUIRE(held == at(15));
    w.exit("node", 2, 137);
    w.settle();
    CHECK(w.status().backoff_count == 1);
    CHECK(w.status().restarts.last->not_before == held);
}

TEST_CASE("[behaviour 5.8] under scope Replica only the raised rounds are held", "[engine]") {
    world w(c10d());
    w.start();
    w.wait(seconds{5});
    w.ask_deletion(w.pod("node", 1), 0);
    w.settle();
    w.finish_deletions();
    REQUIRE(w.pods().size() == 2);
    w.vanish("node", 2);
    w.status().restarts.seen = {{"node", index_set::parse("0")}};
    w.settle();
    CHECK(w.find("node", 2) != nullptr);
    CHECK(w.find("node", 1) == nullptr);
}

TEST_CASE(
    "[behaviour 4] an end at the very second its deletion was asked for is after", "[engine]"
) {
    world w(ddp());
    w.start();
    w.wait(seconds{100});
    w.exit("worker", 0, 1);
    w.pod("worker", 0).deletion = w.now() + seconds{30};
    w.pod("worker", 0).grace_seconds = 30;
    w.settle();
    CHECK(w.status().backoff_count == 0);
    CHECK(w.status().restarts.disruptions == 1);
}

TEST_CASE("[behaviour 5.9] the raised round is on record before the pod is deleted", "[engine]") {
    world w(job_builder("mnist").replicas("master", 1).replicas("worker", 1, "Always"));
    w.start();
    w.wait(seconds{20});
    w.exit("worker", 0, 0);
    const auto d = w.look();
    REQUIRE(d.status);
    CHECK(d.status->restarts.replaced.size() == 1);
    CHECK(d.stages.empty());
}

TEST_CASE(
    "[behaviour 5.6] c10d: an exit settles for 15 s, then that pod alone is replaced", "[engine]"
) {
    world w(c10d());
    w.start();
    w.wait(seconds{100});
    w.exit("node", 1, 1, "boom");
    w.settle();
    CHECK(w.status().backoff_count == 0);
    CHECK_FALSE(w.status().restarts.last);
    CHECK(w.status().restarts.settling.has_value());
    CHECK(w.status().next_transition == transition{at(115), "Settle"});
    CHECK(w.condition("ReplicaFailure") == "True/ReplicaFailed");
    CHECK(w.count_events("ReplicaFailed") == 1);
    const bool deleted = GENERATE(true, false);
    if (deleted) {  // by somebody, meanwhile: not free for that
        w.wait(seconds{3});
        w.vanish("node", 1);
        w.settle();
    }
    w.to(at(115) - milliseconds{1});
    w.settle();
    CHECK(w.status().backoff_count == 0);
    w.to(at(115));
    w.settle();
    CHECK(w.status().backoff_count == 1);
    CHECK(w.status().restarts.disruptions == 0);
    CHECK_FALSE(w.status().restarts.settling.has_value());
    CHECK(w.status().attempt == 1);
    CHECK(w.status().restarts.replaced == std::vector<replaced_index>{{"node", 1, 1}});
    w.run_all();
    CHECK(w.condition("ReplicaFailure") == "False/NoFailure");
}

TEST_CASE("[behaviour 5.6] c10d: a second exit while one settles takes the whole job", "[engine]") {
    world w(c10d(4));
    w.start();
    w.wait(seconds{100});
    w.exit("node", 1, 1);
    w.settle();
    w.wait(seconds{10});
    w.exit("node", 2, 1);
    w.settle();
    CHECK(w.status().attempt == 1);
    w.to(at(115));
    w.settle();
    CHECK(w.status().attempt == 2);
    CHECK(w.status().backoff_count == 1);
    CHECK(w.status().restarts.last->pods.size() == 2);
}

TEST_CASE("[behaviour 5.6] no other incident while a pod settles; pause ends it", "[engine]") {
    world w(c10d(4));
    w.start();
    w.wait(seconds{100});
    w.exit("node", 1, 1);
    w.settle();
    w.wait(seconds{1});
    w.exit("node", 2, 137);
    w.settle();
    CHECK(w.status().restarts.replaced.empty());
    SECTION("the incident takes both") {
        w.to(at(115));
        w.settle();
        CHECK(w.status().restarts.replaced.size() == 2);
        CHECK(w.status().backoff_count == 1);
    }
    SECTION("pause") {
        w.edit().pause();
        w.reload();
        w.settle();
        CHECK_FALSE(w.status().restarts.settling.has_value());
        w.edit().pause(false);
        w.reload();
        w.start();
        CHECK(w.status().backoff_count == 0);
        CHECK(w.status().phase == job_phase::running);
    }
}
