// SPDX-License-Identifier: Apache-2.0
//
// ColossalAI: two stages, and no restart (BEHAVIOUR.md 2.3, 5.11, 5.13).
#include "engine/jobs.hpp"

#include <catch2/catch.hpp>

using namespace signalbox;
using namespace signalbox::test;
using core::job_phase;
using core::object_kind;
using core::seconds;

namespace {

/// Workers and launcher run.
void start_both(world& w) {
    w.start();
    w.run_all();
    REQUIRE(w.find("launcher", 0) != nullptr);
    REQUIRE(w.status().phase == job_phase::running);
}

}  // namespace

TEST_CASE("[behaviour 2.3] the launcher comes when every worker is Ready", "[engine]") {
    world w(colossalai(2));
    w.settle();
    CHECK(w.pods().size() == 2);
    CHECK(w.find("launcher", 0) == nullptr);
    CHECK(w.status().reason == "WaitingForWorkers");
    CHECK(w.condition("Initialized") == "True/ReplicasAccepted");

    w.run(w.pod("worker", 0));
    w.settle();
    CHECK(w.find("launcher", 0) == nullptr);

    w.run(w.pod("worker", 1));
    w.pod("worker", 1).ready = false;
    w.settle();
    CHECK(w.find("launcher", 0) == nullptr);

    w.pod("worker", 1).ready = true;
    w.settle();
    CHECK(w.find("launcher", 0) != nullptr);
    CHECK(w.status().phase == job_phase::pending);
    w.run_all();
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.status().ready == "3/3");
}

TEST_CASE("[behaviour 2.1] objects come before pods, in their order", "[engine]") {
    world w(colossalai(1));
    std::vector<std::string> order;
    w.gate = [&](const core::action& a) {
        if (a.kind != object_kind::job) {
            order.emplace_back(core::to_string(a.kind));
        }
        return true;
    };
    w.start();
    CHECK(
        order == std::vector<std::string>{"Service", "Service", "Secret", "ConfigMap", "Pod", "Pod"}
    );
}

TEST_CASE("[behaviour 5.13] the end says what workers hold that stay", "[engine]") {
    world w(colossalai(3).field(
        "worker",
        R"({"replicas":3,"command":["train.py"],"template":{"spec":{"containers":[
            {"name":"worker","image":"ds:1","resources":{"limits":{"nvidia.com/gpu":8,"cpu":4}}},
            {"name":"side","image":"s","resources":{"limits":{"nvidia.com/gpu":"1","a.b/c":2}}}
        ]}}})"
    ));
    start_both(w);
    w.exit("worker", 1, 0);  // it holds nothing any more
    w.exit("launcher", 0, 0);
    w.settle();
    const auto told = std::ranges::find(w.events, "WorkersLeftRunning", &core::event::reason);
    REQUIRE(told != w.events.end());
    CHECK(told->message.find("(2) stay") != std::string::npos);
    CHECK(told->message.find("they hold 4 a.b/c, 18 nvidia.com/gpu until") != std::string::npos);
}

TEST_CASE("[behaviour 5.11] the launcher's exit decides", "[engine]") {
    world w(colossalai(2));
    start_both(w);
    SECTION("0 is success, and the workers are left as the policy says") {
        w.exit("launcher", 0, 0);
        w.settle();
        CHECK(w.status().phase == job_phase::succeeded);
        CHECK(w.pods().size() == 3);
        CHECK(
            std::ranges::find(w.events, "WorkersLeftRunning", &core::event::reason)->message ==
            "The pods that run sshd (2) stay, because runPolicy.cleanUpWorkers is false: they hold "
            "CPUs and memory until that is changed or the job is deleted"
        );
        CHECK(w.count_children(object_kind::service) == 0);
        CHECK(w.count_children(object_kind::config_map) == 0);
        CHECK(w.count_children(object_kind::secret) == 1);
    }
    SECTION("another code is the end, though a worker is lost in the same look") {
        w.exit("launcher", 0, 1, "no such option");
        w.ask_deletion(w.pod("worker", 1));
        w.settle();
        CHECK(w.status().phase == job_phase::failed);
        CHECK(w.status().reason == "ErrorInPod");
        CHECK(w.condition("Failed") == "True/ErrorInPod");
        CHECK(
            core::find_condition(w.status(), "Failed")->message.find("no such option") !=
            std::string::npos
        );
        CHECK(w.find("launcher", 0) != nullptr);
        CHECK(w.status().backoff_count == 0);
        CHECK(w.status().restarts.disruptions == 0);
    }
    SECTION("the bootstrap's own code is no exception") {
        w.exit("launcher", 0, 75, "signalbox: no answer");
        w.settle();
        CHECK(w.status().reason == "ErrorInPod");
    }
}

TEST_CASE("[behaviour 5.11] once the launcher has started every loss is the end", "[engine]") {
    world w(colossalai(2));
    start_both(w);
    const auto failed_by_loss = [&] {
        w.settle();
        CHECK(w.status().phase == job_phase::failed);
        CHECK(w.status().reason == "ReplicaLost");
        CHECK(w.status().attempt == 1);
    };
    SECTION("a worker is deleted") {
        w.ask_deletion(w.pod("worker", 0));
        failed_by_loss();
        CHECK(w.find("launcher", 0) == nullptr);
        CHECK(w.find("worker", 1) != nullptr);
    }
    SECTION("a worker vanishes") {
        w.vanish("worker", 0);
        failed_by_loss();
        CHECK(w.find("launcher", 0) == nullptr);
    }
    SECTION("a worker's sshd exits with 0") {
        w.exit("worker", 1, 0);
        failed_by_loss();
    }
    SECTION("the launcher is deleted") {
        w.ask_deletion(w.pod("launcher", 0));
        failed_by_loss();
    }
    SECTION("the launcher vanishes: no one knows how far it came") {
        w.vanish("launcher", 0);
        failed_by_loss();
        CHECK(w.find("launcher", 0) == nullptr);
    }
}

TEST_CASE("[behaviour 5.11] a launcher that was never seen to start but is gone", "[engine]") {
    world w(colossalai(1));
    w.start();
    REQUIRE(w.pod("launcher", 0).phase == core::pod_phase::pending);
    w.vanish("launcher", 0);
    w.settle();
    CHECK(w.status().reason == "ReplicaLost");
}

TEST_CASE("[behaviour 5.11] before the launcher started disrupted pods are remade", "[engine]") {
    world w(colossalai(2));
    w.settle();
    SECTION("a worker") {
        w.run(w.pod("worker", 0));
        w.wait(seconds(90));
        w.ask_deletion(w.pod("worker", 0));
        w.settle();
        CHECK(w.status().phase == job_phase::pending);
        CHECK(w.status().restarts.disruptions == 1);
        CHECK(w.status().restarts.last->scope == core::restart_scope::replica);
        w.finish_deletions();
        CHECK(w.pod("worker", 0).round == 1);
        w.run_all();
        w.run_all();
        CHECK(w.status().phase == job_phase::running);
    }
    SECTION("a worker of a minute waits for its delay [behaviour 5.4]") {
        w.ask_deletion(w.pod("worker", 0), 0);
        w.settle();
        w.finish_deletions();
        CHECK(w.find("worker", 0) == nullptr);
        CHECK(w.status().reason == "RestartDelay");
        CHECK(w.look().wake_up == w.now() + seconds(10));
        w.wake();
        CHECK(w.pod("worker", 0).round == 1);
    }
    SECTION("a launcher that waits for its image") {
        w.run(w.pod("worker", 0));
        w.run(w.pod("worker", 1));
        w.settle();
        w.wait(seconds(90));
        w.ask_deletion(w.pod("launcher", 0));
        w.settle();
        w.finish_deletions();
        CHECK(w.pod("launcher", 0).round == 1);
        CHECK(w.status().restarts.disruptions == 1);
    }
}

TEST_CASE("[behaviour 5.11] before the launcher started an exit is the end", "[engine]") {
    world w(colossalai(2));
    w.settle();
    SECTION("a worker exits by itself, another is disrupted") {
        w.run(w.pod("worker", 1));
        w.exit("worker", 1, 64, "signalbox: no sshd");
        w.ask_deletion(w.pod("worker", 0));
        w.settle();
        CHECK(w.status().phase == job_phase::failed);
        CHECK(w.status().reason == "ErrorInPod");
        CHECK(
            core::find_condition(w.status(), "Failed")->message.find("no sshd") != std::string::npos
        );
    }
    SECTION("the launcher is refused for good") {
        w.run(w.pod("worker", 0));
        w.run(w.pod("worker", 1));
        const std::string launcher = core::pod_name(w.plan(), {.type = w.plan().deciding_type});
        const auto r = refused(w, core::object_kind::pod, launcher, 422, "limits are missing");
        w.gate = [](const core::action& a) { return a.name.find("launcher") == a.name.npos; };
        w.pass();
        w.refusals.push_back(r);
        w.settle();
        CHECK(w.status().reason == "PodRejected");
    }
}

TEST_CASE("[behaviour 5.13] cleanUpWorkers takes the workers and leaves the launcher", "[engine]") {
    world w(colossalai(2).run_policy("\"cleanUpWorkers\":true"));
    start_both(w);
    w.exit("launcher", 0, 0);
    w.settle();
    CHECK(w.status().phase == job_phase::succeeded);
    CHECK(w.pods().size() == 1);
    CHECK(w.find("launcher", 0) != nullptr);
    CHECK_FALSE(w.has_event("WorkersLeftRunning"));
}

TEST_CASE("[behaviour 5.12] the deadline takes launcher and workers", "[engine]") {
    world w(colossalai(2).run_policy("\"activeDeadlineSeconds\":60"));
    start_both(w);
    w.wait(seconds(61));
    w.settle();
    CHECK(w.status().reason == "DeadlineExceeded");
    CHECK(w.pods().empty());
    CHECK_FALSE(w.has_event("WorkersLeftRunning"));
    CHECK(w.count_children(object_kind::secret) == 0);
}

TEST_CASE("[behaviour 6.4] a paused job begins again with its workers", "[engine]") {
    world w(colossalai(2));
    start_both(w);
    w.edit().pause();
    w.reload();
    w.settle();
    CHECK(w.pods().empty());
    CHECK(w.count_children(object_kind::secret) == 1);
    CHECK(w.count_children(object_kind::config_map) == 0);
    w.edit().pause(false);
    w.reload();
    w.settle();
    CHECK(w.status().phase == job_phase::resuming);
    CHECK(w.status().attempt == 2);
    CHECK(w.find("launcher", 0) == nullptr);
    w.run_all();
    w.run_all();
    CHECK(w.status().phase == job_phase::running);
}
