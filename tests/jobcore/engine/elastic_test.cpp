// SPDX-License-Identifier: Apache-2.0
//
// Elastic jobs (BEHAVIOUR.md 7, 4, 5.10).
#include "engine/jobs.hpp"

#include <catch2/catch.hpp>

using namespace signalbox;
using namespace signalbox::test;
using core::job_phase;
using core::object_kind;
using core::seconds;

namespace {

job_builder elastic_c10d(int expected = 3, int min = 2, int max = 8) {
    return c10d(expected).elastic(min, max, expected);
}

void scale(world& w, int min, int max, int expected) {
    w.edit().elastic(min, max, expected);
    w.reload();
    w.settle();
}

std::int32_t wanted(const world& w) {
    return w.status().tasks.front().wanted;
}

}  // namespace

TEST_CASE("[behaviour 7.1] an absent size is written into the job once", "[engine]") {
    world w(c10d(3).elastic(1, 8));
    w.start();
    REQUIRE(w.job_patches.size() == 1);
    const std::string& body = w.job_patches.front();
    CHECK(body.find(R"("expectedReplicas":3)") != body.npos);
    CHECK(body.find("\"resourceVersion\":\"1\"") != body.npos);
    CHECK(body.find("\"uid\":\"" + w.job().meta.uid) != body.npos);

    w.settle();
    CHECK(w.job_patches.size() == 1);
    CHECK_FALSE(w.has_event("Scaled"));
    CHECK(w.status().phase == job_phase::running);
}

TEST_CASE("[behaviour 7.1] the default is the replica count, within the bounds", "[engine]") {
    world w(c10d(9).elastic(1, 4));
    w.start();
    REQUIRE(w.job_patches.size() == 1);
    CHECK(w.job_patches.front().find(R"("expectedReplicas":4)") != std::string::npos);
    CHECK(w.pods().size() == 4);
}

TEST_CASE("[behaviour 7.1] a refused default holds nothing", "[engine]") {
    world w(c10d(2).elastic(1, 4));
    w.refusals.push_back(refused(w, object_kind::job, "mnist", 403, {}, 0));
    w.start();
    CHECK(w.job_patches.empty());
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.look().wake_up == w.now() + seconds(10));
}

TEST_CASE("[behaviour 7.2] more replicas join a running job", "[engine]") {
    world w(elastic_c10d(3));
    w.start();
    w.edit().elastic(2, 8, 5);
    w.reload();

    // The size is on record before anything acts on it.
    w.pass();
    CHECK(wanted(w) == 5);
    CHECK(w.pods().size() == 3);
    w.settle();
    CHECK(w.pods().size() == 5);
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.status().attempt == 1);
    CHECK(w.status().backoff_count == 0);
    CHECK_FALSE(w.status().restarts.last.has_value());
    CHECK(w.count_events("Scaled") == 1);
    w.run_all();
    CHECK(w.status().ready == "5/5");
    CHECK(w.status().replicas == 5);
}

TEST_CASE("[behaviour 7.2] fewer replicas: the highest go, never the master", "[engine]") {
    world w(elastic_c10d(4));
    w.start();
    w.slow_deletes = true;
    scale(w, 2, 8, 2);
    CHECK(wanted(w) == 2);
    CHECK(w.pod("node", 3).deletion.has_value());
    CHECK(w.pod("node", 2).deletion.has_value());
    CHECK_FALSE(w.pod("node", 1).deletion.has_value());
    CHECK_FALSE(w.pod("node", 0).deletion.has_value());
    CHECK(w.status().aggregate->running == 2);
    CHECK(w.status().backoff_count == 0);
    CHECK_FALSE(w.status().restarts.last.has_value());

    // A later size waits for the name: the leaving pods are old by record.
    scale(w, 2, 8, 4);
    CHECK(w.pods().size() == 4);
    CHECK(w.status().phase == job_phase::running);
    w.finish_deletions();
    CHECK(w.pod("node", 3).round == 1);
    CHECK(w.pod("node", 2).round == 1);
    w.run_all();
    CHECK(w.status().ready == "4/4");
}

TEST_CASE("[behaviour 7.2] pending replicas leave as well", "[engine]") {
    world w(elastic_c10d(4));
    w.settle();
    scale(w, 2, 8, 2);
    CHECK(w.pods().size() == 2);
}

TEST_CASE("[behaviour 7.2] what has ended stays and is not counted", "[engine]") {
    world w(elastic_c10d(4));
    w.start();
    w.exit("node", 3, 0);
    w.settle();
    CHECK(w.status().restarts.completed.size() == 1);
    scale(w, 2, 8, 3);
    CHECK(w.pods().size() == 4);
    CHECK(w.status().restarts.completed.empty());
    CHECK_FALSE(w.has_event("StatusRepaired"));
    CHECK(w.status().aggregate->running == 3);
    CHECK(w.status().aggregate->succeeded == 0);
    CHECK(w.status().ready == "3/3");
}

TEST_CASE("[behaviour 7.2] more rounds than the list holds make a new attempt", "[engine]") {
    world w(elastic_c10d(6, 1, 8));
    w.rules().replaced_in_status = 3;
    w.start();
    SECTION("by one resize") {
        scale(w, 1, 8, 2);
        CHECK(w.status().attempt == 2);
        CHECK(w.status().restarts.replaced.empty());
        CHECK(w.pods().size() == 2);
    }
    SECTION("or with those before it") {
        scale(w, 1, 8, 4);
        CHECK(w.status().attempt == 1);
        CHECK(w.status().restarts.replaced.size() == 2);
        scale(w, 1, 8, 2);
        CHECK(w.status().attempt == 2);
    }
}

TEST_CASE("[behaviour 7.1] several types share the size by weight", "[engine]") {
    replica node{.type = "node", .replicas = 2, .scaling_weight = 3};
    replica spot{.type = "spot", .replicas = 2, .scaling_weight = 1};
    world w(job_builder("mnist").replicas(node).replicas(spot).torchrun(3).elastic(2, 8, 4));
    w.start();
    CHECK(w.status().tasks[0].wanted == 3);
    CHECK(w.status().tasks[1].wanted == 1);
    scale(w, 2, 8, 8);
    CHECK(w.status().tasks[0].wanted == 6);
    CHECK(w.status().tasks[1].wanted == 2);
    CHECK(w.status().attempt == 1);
}

TEST_CASE("[behaviour 7.3] a DeepSpeed resize makes a new attempt and hostfile", "[engine]") {
    world w(deepspeed(2).field(
        "elastic", R"({"enabled":true,"minReplicas":1,"maxReplicas":4,"expectedReplicas":2})"
    ));
    w.start();
    const auto hosts = w.child_of(object_kind::config_map)->data_fingerprint;
    w.edit().field(
        "elastic", R"({"enabled":true,"minReplicas":1,"maxReplicas":4,"expectedReplicas":3})"
    );
    w.reload();
    w.settle();
    CHECK(w.status().attempt == 2);
    CHECK(w.status().backoff_count == 0);
    CHECK(w.status().restarts.disruptions == 0);
    CHECK(w.child_of(object_kind::config_map)->data_fingerprint != hosts);
    CHECK(w.count_children(object_kind::secret) == 1);
    CHECK(w.pods().size() == 3);
    CHECK(w.count_events("Scaled") == 1);
    w.run_all();
    CHECK(w.status().phase == job_phase::running);
}

TEST_CASE("[behaviour 7.3] a DeepSpeed resize during a restart keeps the delay", "[engine]") {
    const auto of_size = [](int n) {
        return R"({"enabled":true,"maxReplicas":4,"expectedReplicas":)" + std::to_string(n) + "}";
    };
    world w(deepspeed(2).field("elastic", of_size(2)).run_policy("\"backoffLimit\":9"));
    w.start();
    w.exit("worker", 0, 1);
    w.settle();
    w.run_all();
    w.exit("worker", 0, 1);
    w.settle();
    CHECK(w.status().attempt == 3);
    CHECK(w.pods().empty());
    w.edit().field("elastic", of_size(4));
    w.reload();
    w.settle();
    CHECK(w.status().attempt == 4);
    CHECK(w.pods().empty());
    w.wake();
    CHECK(w.pods().size() == 4);
}

TEST_CASE("[behaviour 7.4] the size in force again does nothing", "[engine]") {
    world w(elastic_c10d(3));
    w.start();
    const int writes = w.creates;
    scale(w, 2, 8, 3);
    CHECK(w.creates == writes);
    CHECK_FALSE(w.has_event("Scaled"));
}

TEST_CASE("[behaviour 6.2] a resize while paused acts with the resume", "[engine]") {
    world w(elastic_c10d(3));
    w.start();
    w.edit().pause();
    w.reload();
    w.settle();
    scale(w, 2, 8, 5);
    CHECK(wanted(w) == 3);
    CHECK(w.pods().empty());
    w.edit().pause(false);
    w.reload();
    w.settle();
    CHECK(wanted(w) == 5);
    CHECK(w.pods().size() == 5);
    CHECK_FALSE(w.has_event("Scaled"));
}

TEST_CASE("[behaviour 4.9] an elastic job runs with its minimum", "[engine]") {
    world w(elastic_c10d(4, 2));
    w.settle();
    w.run(w.pod("node", 1));
    w.run(w.pod("node", 2));
    w.settle();
    CHECK(w.status().phase == job_phase::pending);  // not without the master
    w.run(w.pod("node", 0));
    w.settle();
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.status().ready == "3/4");
}

TEST_CASE("[behaviour 4.10] below the minimum it is Pending again", "[engine]") {
    world w(elastic_c10d(3, 3));
    w.start();
    w.wait(seconds(90));
    w.ask_deletion(w.pod("node", 2), 0);
    w.settle();
    CHECK(w.status().phase == job_phase::pending);
    CHECK(w.status().reason == "BelowMinReplicas");
    CHECK(w.condition("Running") == "False/BelowMinReplicas");
    w.finish_deletions();
    w.run_all();
    CHECK(w.status().phase == job_phase::running);
}

TEST_CASE("[behaviour 5.10] an elastic job goes on while its minimum remains", "[engine]") {
    replica node{.type = "node", .replicas = 4, .restart_policy = "Never"};
    world w(job_builder("mnist").replicas(node).torchrun(3).elastic(2, 4, 4));
    w.start();
    const auto fail = [&](int index) {
        w.exit("node", index, 3);
        w.settle();
        w.wait(seconds(16));
        w.settle();
    };
    fail(3);
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.status().restarts.given_up.size() == 1);
    CHECK(w.condition("ReplicaFailure") == "True/ReplicaFailed");
    CHECK(w.status().backoff_count == 0);
    fail(2);
    CHECK(w.status().phase == job_phase::running);
    fail(1);
    CHECK(w.status().phase == job_phase::failed);
    CHECK(w.status().reason == "ErrorInPod");
}

TEST_CASE(
    "[behaviour 5.10] a job that is not elastic fails with its first lost replica", "[engine]"
) {
    replica node{.type = "node", .replicas = 4, .restart_policy = "Never"};
    world w(job_builder("mnist").replicas(node).torchrun(3));
    w.start();
    w.exit("node", 3, 3);
    w.settle();
    w.wait(seconds(16));
    w.settle();
    CHECK(w.status().phase == job_phase::failed);
}

TEST_CASE("[behaviour 5.6] without restarts in torchrun a lost pod takes all", "[engine]") {
    world w(c10d(3, 0).elastic(1, 8, 3));
    w.start();
    w.exit("node", 2, GENERATE(1, 137));
    w.pass();
    CHECK_FALSE(w.status().restarts.settling.has_value());
    CHECK(w.status().attempt == 2);
    CHECK(w.status().backoff_count == 1);
}

TEST_CASE("[behaviour 5.10] without restarts in torchrun no replica is given up", "[engine]") {
    world w(c10d(3, 0).elastic(1, 8, 3).run_policy("\"backoffLimit\":0"));
    w.start();
    w.exit("node", 2, 1);
    w.settle();
    CHECK(w.status().phase == job_phase::failed);
    CHECK(w.status().reason == "BackoffLimitExceeded");
}
