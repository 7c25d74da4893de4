// SPDX-License-Identifier: Apache-2.0
//
// How jobs end: what their peers do meanwhile, what is shown, and what is left of them.
#include "engine/jobs.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::core;
using signalbox::test::at;
using signalbox::test::c10d;
using signalbox::test::ddp;
using signalbox::test::refused;
using signalbox::test::world;

namespace {

std::size_t count_removed(const decision& d, object_kind kind) {
    std::size_t n = 0;
    for (const stage& s : d.stages) {
        for (const action& a : s) {
            n += a.what() == verb::remove && a.kind == kind ? std::size_t{1} : std::size_t{0};
        }
    }
    return n;
}

}  // namespace

TEST_CASE("[behaviour 5.1] peers of a plain job get 30 s to end by themselves", "[engine]") {
    world w(ddp());
    w.start();
    w.exit("master", 0, 0);
    w.settle();
    REQUIRE(w.status().phase == job_phase::succeeded);
    CHECK(w.pods().size() == 3);
    REQUIRE(w.status().next_transition);
    CHECK(w.status().next_transition->reason == "CleanUp");
    SECTION("they end") {
        w.exit("worker", 0, 0);
        w.exit("worker", 1, 0);
        w.settle();
        CHECK(w.children().empty());
    }
    SECTION("they do not") {
        w.wait(seconds{29});
        w.settle();
        CHECK(w.pods().size() == 3);
        w.wait(seconds{1});
        w.settle();
        CHECK(w.pods().size() == 1);
    }
}

TEST_CASE("[behaviour 4.15] ready of an ended job says how many ended well", "[engine]") {
    SECTION("peers that end after the deciding pod, and pods that are gone") {
        world w(ddp().run_policy("\"cleanUpPolicy\":\"All\""));
        w.start();
        w.exit("master", 0, 0);
        w.settle();
        CHECK(w.status().ready == "1/3");
        w.exit("worker", 0, 0);
        w.settle();
        CHECK(w.status().ready == "2/3");
        w.wake();
        CHECK(w.pods().empty());
        CHECK(w.status().ready == "2/3");
    }
    SECTION("workers that ran sshd for it") {
        world w(signalbox::test::deepspeed(3));
        w.start();
        w.exit("worker", 0, 0);
        w.settle();
        CHECK(w.status().ready == "3/3");
    }
    SECTION("a failed job") {
        world w(ddp().run_policy("\"backoffLimit\":0"));
        w.start();
        w.exit("worker", 0, 0);
        w.settle();
        w.exit("master", 0, 1);
        w.settle();
        CHECK(w.status().phase == job_phase::failed);
        CHECK(w.status().ready == "1/3");
    }
}

TEST_CASE("[behaviour 5.1] the peers of a debug job are not waited for", "[engine]") {
    world w(ddp().debug());
    w.start();
    w.exit("master", 0, 0);
    w.settle();
    CHECK(w.status().phase == job_phase::succeeded);
    CHECK(w.pods().size() == 1);
}

TEST_CASE("[behaviour 5.13] a pod whose training never started goes at once", "[engine]") {
    world w(c10d().run_policy("\"cleanUpPolicy\":\"None\""));
    w.settle();
    w.run(w.pod("node", 0));
    w.run(w.pod("node", 1));
    w.settle();
    w.exit("node", 0, 0);
    w.settle();
    REQUIRE(w.status().phase == job_phase::succeeded);
    CHECK(w.find("node", 1) != nullptr);
    CHECK(w.find("node", 2) == nullptr);
}

TEST_CASE("[behaviour 4.13] Succeeded is there from the end on, True or False", "[engine]") {
    world w(ddp().run_policy("\"backoffLimit\":0"));
    w.start();
    CHECK(w.condition("Succeeded").empty());
    const int code = GENERATE(0, 1);
    w.exit("master", 0, code);
    w.settle();
    CHECK(
        w.condition("Succeeded") == (code == 0 ? "True/Succeeded" : "False/BackoffLimitExceeded")
    );
    CHECK(w.condition("Completed") == (code == 0 ? "True/Succeeded" : "True/Failed"));
}

TEST_CASE("[behaviour 4.1] a job of less than a second does not end before it starts", "[engine]") {
    world w(ddp());
    w.wait(milliseconds{300});
    w.start();
    w.exit("master", 0, 0);
    w.settle();
    REQUIRE(w.status().start_time);
    REQUIRE(w.status().completion_time);
    CHECK(*w.status().completion_time >= *w.status().start_time);
    CHECK(w.status().duration == "0s");
}

TEST_CASE("[behaviour 5.6] where no restart is possible nothing settles", "[engine]") {
    world w(c10d().run_policy("\"backoffLimit\":0"));
    w.start();
    w.exit("node", 1, 1);
    w.settle();
    CHECK(w.status().phase == job_phase::failed);
    CHECK(w.status().reason == "BackoffLimitExceeded");
    CHECK(w.status().completion_time == w.now());
}

TEST_CASE("[behaviour 5.6] a rendezvous that pod 0 has left takes all pods", "[engine]") {
    world w(c10d().run_policy("\"restartScope\":\"Replica\""));
    w.start();
    w.exit("node", 0, 0);
    w.exit("node", 2, 137);
    w.settle();
    CHECK(w.status().attempt == 2);
    REQUIRE(w.status().restarts.last);
    CHECK(w.status().restarts.last->scope == restart_scope::job);
}

TEST_CASE("[behaviour 5.6] while an exit settles what is missing is made", "[engine]") {
    world w(c10d(3));
    w.start();
    w.exit("node", 1, 1);
    w.settle();
    REQUIRE(w.status().restarts.settling.has_value());
    w.delete_child(object_kind::service);
    const auto before = w.count_children(object_kind::service);
    w.settle();
    CHECK(w.count_children(object_kind::service) == before + 1);
    CHECK(w.status().restarts.settling.has_value());
}

TEST_CASE("[behaviour 5.5] the cost of failures goes by their times alone", "[engine]") {
    const bool together = GENERATE(true, false);
    CAPTURE(together);
    world w(ddp(2).run_policy("\"restartScope\":\"Replica\",\"backoffLimit\":1"));
    w.start();
    w.exit("worker", 0, 1);
    if (!together) {
        w.pass();
    }
    w.exit("worker", 1, 1);
    w.settle();
    CHECK(w.status().backoff_count == 1);
    CHECK(w.status().phase != job_phase::failed);
    CHECK(w.status().restarts.last->pods.size() == 2);
    CHECK(w.find("worker", 0) != nullptr);
    CHECK(w.find("worker", 1) != nullptr);
}

TEST_CASE("[behaviour 5.5] a pod that was made after the incident begins a new one", "[engine]") {
    world w(ddp(2).run_policy("\"restartScope\":\"Replica\",\"backoffLimit\":9"));
    w.start();
    w.wait(seconds{100});
    w.exit("worker", 0, 1);
    w.settle();
    w.wait(seconds{1});
    w.run_all();
    w.exit("worker", 0, 1);
    w.settle();
    CHECK(w.status().backoff_count == 2);
}

TEST_CASE("[behaviour 5.5] ends far apart are two incidents, also in one look", "[engine]") {
    world w(ddp(2).run_policy("\"restartScope\":\"Replica\",\"backoffLimit\":9"));
    w.start();
    w.exit("worker", 0, 1);
    w.wait(seconds{20});
    w.exit("worker", 1, 1);
    w.settle();
    CHECK(w.status().backoff_count == 2);
}

TEST_CASE("[behaviour 2.8] what is refused for good, and what only waits", "[engine]") {
    struct row {
        int code;
        const char* message;
        bool final;
    };
    const auto r = GENERATE(
        row{400, "json: cannot unmarshal number into Go struct field EnvVar.value", true},
        row{405, "the server does not allow this method on the requested resource", true},
        row{413, "Request entity too large", true},
        row{422, "spec.containers[0].image: Required value", true},
        row{403, "violates PodSecurity \"restricted:latest\"", true},
        row{403, "maximum cpu usage per Container is 2, but limit is 4", true},
        row{403, "admission webhook \"policy.example\" denied the request", true},
        row{403, "exceeded quota: gpus", false},
        row{403, "status unknown for quota: gpus, resources: pods", false},
        row{403, "User \"x\" cannot create resource \"pods\" in API group \"\"", false},
        row{403, "User \"x\" cannot patch resource \"pods\" in API group \"\"", false},
        row{403,
            "pods \"x\" is forbidden: cannot set blockOwnerDeletion if an ownerReference",
            false},
        row{403, "error looking up service account a/b: serviceaccount \"b\" not found", false},
        row{403, "no PriorityClass with name high was found", false},
        row{403, "pod rejected: RuntimeClass \"gvisor\" not found", false},
        row{404, "the server could not find the requested resource", false}
    );
    CAPTURE(r.code, r.message);
    world w(c10d());
    w.gate = [](const action& a) { return a.kind != object_kind::pod; };
    for (int i = 0; i < 4; ++i) {
        w.pass();
    }
    w.refusals.push_back(
        refused(w, object_kind::pod, pod_name(w.plan(), {.type = 0, .index = 0}), r.code, r.message)
    );
    const decision d = w.look();
    REQUIRE(d.status);
    if (r.final) {
        CHECK(d.status->phase == job_phase::failed);
        CHECK(d.status->reason == "PodRejected");
        return;
    }
    CHECK(d.status->phase == job_phase::pending);
    const condition* running = find_condition(*d.status, "Running");
    REQUIRE(running != nullptr);
    CHECK(running->message.find(r.message) != std::string::npos);
    REQUIRE(d.wake_up);
    CHECK(*d.wake_up > w.now());
}

TEST_CASE("[behaviour 3.9] what took a pod is told before its exit code", "[engine]") {
    world w(ddp().run_policy("\"backoffLimit\":0"));
    w.start();
    pod_record& pod = w.pod("worker", 0);
    w.exit(pod, 137);
    pod.reason = "Evicted";
    pod.message = "The node was low on resource: memory";
    w.settle();
    CHECK(
        find_condition(w.status(), "ReplicaFailure")
            ->message.find("failed (Evicted): The node was low on resource: memory") !=
        std::string::npos
    );
}

TEST_CASE("[behaviour 7.2] an index that leaves is neither completed nor given up", "[engine]") {
    world w(c10d(3).elastic(1, 3, 3).run_policy("\"backoffLimit\":0"));
    w.start();
    w.exit("node", 2, 137);
    w.settle();
    REQUIRE(w.status().restarts.given_up.size() == 1);
    w.edit().elastic(1, 3, 2);
    w.reload();
    w.settle();
    CHECK(w.status().restarts.given_up.empty());
}

TEST_CASE("[behaviour 4.2] valid fields of an invalid specification count", "[engine]") {
    world w(ddp().run_policy("\"cleanUpPolicy\":\"All\""));
    w.start();
    w.exit("worker", 0, 0);
    w.exit("worker", 1, 0);
    w.exit("master", 0, 0);
    const char* policy = GENERATE("\"All\"", "\"Everything\"");
    w.edit()
        .field("managedBy", "7")
        .run_policy(std::string("\"ttlSecondsAfterFinished\":5,\"cleanUpPolicy\":") + policy);
    w.reload();
    w.status() = *w.look().status;
    REQUIRE(w.status().phase == job_phase::succeeded);
    const decision ended = w.look();
    const bool all = policy == std::string("\"All\"");
    CHECK(count_removed(ended, object_kind::pod) == (all ? 3U : 0U));
    w.wait(seconds{5});
    CHECK(count_removed(w.look(), object_kind::job) == 1);
}

TEST_CASE("[behaviour 5.13] a pod whose sidecar still runs is unfinished", "[engine]") {
    world w(ddp(1));
    w.start();
    w.exit("worker", 0, 0);
    pod_record& master = w.pod("master", 0);
    const bool fails = GENERATE(true, false);
    w.edit().run_policy("\"backoffLimit\":0");
    w.reload();
    w.exit(master, fails ? 3 : 0, "the last word");
    master.phase = pod_phase::running;  // the sidecar
    container_record side;
    side.name = "side";
    side.state = container_state::running;
    master.containers.push_back(side);
    w.settle();
    REQUIRE(is_final(w.status().phase));
    CHECK(w.find("master", 0) == nullptr);
    CHECK(w.find("worker", 0) != nullptr);
    const condition* failed = find_condition(w.status(), "Failed");
    CHECK((failed->message.find("the last word") != std::string::npos) == fails);
}

TEST_CASE("[behaviour 12.3] who is given up is up in the decision that records it", "[engine]") {
    world w(ddp(2, "Never").run_policy(R"("failurePolicy":"Master")"));
    w.settle();
    w.run(w.pod("master", 0));
    w.run(w.pod("worker", 0));
    w.settle();
    REQUIRE(w.status().phase == job_phase::pending);
    w.exit("worker", 1, 1);
    const decision d = w.look();
    REQUIRE(d.status);
    CHECK(d.status->restarts.given_up.size() == 1);
    CHECK(d.status->phase == job_phase::running);
}
