// SPDX-License-Identifier: Apache-2.0
//
// A job that runs when its specification becomes invalid (BEHAVIOUR.md 4.2).
#include "engine/jobs.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::core;
using signalbox::test::colossalai;
using signalbox::test::ddp;
using signalbox::test::job_builder;
using signalbox::test::world;

namespace {

/// A field that is wrong in every kind.
job_builder& broken(job_builder& job) {
    return job.field("managedBy", "7");
}

struct failing_master {
    const char* what;
    const char* run_policy;  ///< the members that it has besides the mistake
    const char* master_policy;
    const char* worker_policy;
    int code;
    const char* ends_with;  ///< null: it waits
};

/// A container that is no training container, first in the list.
void add_sidecar(pod_record& pod, container_state state) {
    container_record side;
    side.name = "side";
    side.state = state;
    pod.containers.insert(pod.containers.begin(), std::move(side));
}

}  // namespace

TEST_CASE(
    "[behaviour 4.2] a failed deciding pod ends an invalid job if valid fields forbid a restart",
    "[engine]"
) {
    const auto f = GENERATE(
        failing_master{
            "the budget is used up",
            "\"backoffLimit\":2",
            "OnFailure",
            "OnFailure",
            1,
            "BackoffLimitExceeded"},
        failing_master{
            "there is budget", "\"backoffLimit\":5", "OnFailure", "OnFailure", 1, nullptr},
        failing_master{
            "no default counts",
            "\"ttlSecondsAfterFinished\":9",
            "OnFailure",
            "OnFailure",
            1,
            nullptr},
        failing_master{
            "the budget is wrong", "\"backoffLimit\":-1", "OnFailure", "OnFailure", 1, nullptr},
        failing_master{
            "its policy forbids it", "\"backoffLimit\":5", "Never", "OnFailure", 1, "ErrorInPod"},
        failing_master{
            "the policy of others", "\"backoffLimit\":5", "OnFailure", "Never", 1, nullptr},
        failing_master{
            "a permanent code", "\"backoffLimit\":5", "ExitCode", "OnFailure", 1, "ErrorInPod"},
        failing_master{
            "a code that is restarted",
            "\"backoffLimit\":5",
            "ExitCode",
            "OnFailure",
            137,
            nullptr},
        failing_master{
            "a policy that does not exist",
            "\"backoffLimit\":5",
            "Sometimes",
            "OnFailure",
            1,
            nullptr}
    );
    CAPTURE(f.what);
    world w(ddp());
    w.start();
    w.status().backoff_count = 3;
    w.edit() = job_builder("mnist")
                   .replicas("master", 1, f.master_policy)
                   .replicas("worker", 2, f.worker_policy)
                   .run_policy(f.run_policy);
    broken(w.edit());
    w.reload();
    w.settle();
    w.exit("master", 0, f.code);
    w.settle();
    CHECK(w.status().backoff_count == 3);
    if (f.ends_with == nullptr) {
        CHECK(w.status().phase == job_phase::running);
        CHECK(w.status().reason == "InvalidSpec");
    } else {
        CHECK(w.status().phase == job_phase::failed);
        CHECK(w.status().reason == f.ends_with);
    }
}

TEST_CASE("[behaviour 4.2] of two entries of one type neither policy counts", "[engine]") {
    world w(ddp());
    w.start();
    const char* first = GENERATE("Never", "OnFailure");
    const bool never_first = first == std::string("Never");
    w.edit() = job_builder("mnist")
                   .replicas("master", 1, first)
                   .replicas("master", 1, never_first ? "OnFailure" : "Never")
                   .replicas("worker", 2);
    w.reload();
    w.settle();
    REQUIRE_FALSE(w.job().compiled->plan);
    w.exit("master", 0, 1);
    w.settle();
    CHECK(w.status().phase == job_phase::running);
}

TEST_CASE(
    "[behaviour 4.2] a missing pod may make the failure free: it waits for a valid specification",
    "[engine]"
) {
    world w(ddp());
    w.start();
    broken(w.edit().run_policy("\"backoffLimit\":0"));
    w.reload();
    w.settle();
    w.vanish("worker", 0);
    w.exit("master", 0, 1);
    w.settle();
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.absences.empty());
    w.edit() = ddp().run_policy("\"backoffLimit\":0");
    w.reload();
    w.settle();
    CHECK(w.status().restarts.disruptions == 1);
    CHECK(w.status().attempt == 2);
}

TEST_CASE("[behaviour 4.2] a missing pod does not hold up a pause", "[engine]") {
    world w(ddp());
    w.start();
    broken(w.edit().run_policy("\"backoffLimit\":0").pause());
    w.reload();
    w.vanish("worker", 0);
    w.exit("master", 0, 1);
    w.settle();
    CHECK(w.status().phase == job_phase::paused);
}

TEST_CASE("[behaviour 4.2] [behaviour 5.11] a ColossalAIJob ends by its launcher", "[engine]") {
    world w(colossalai());
    w.start();
    w.settle();
    w.run_all();
    REQUIRE(w.status().phase == job_phase::running);
    broken(w.edit());
    w.reload();
    w.settle();
    w.vanish("worker", 1);
    w.exit("launcher", 0, 1);
    w.settle();
    CHECK(w.status().phase == job_phase::failed);
    CHECK(w.status().reason == "ErrorInPod");
}

TEST_CASE(
    "[behaviour 4.2] [behaviour 1.6] pods say which container trains, also of an invalid job",
    "[engine]"
) {
    world w(ddp());
    w.start();
    pod_record& master = w.pod("master", 0);
    add_sidecar(master, container_state::running);
    const bool marked = GENERATE(true, false);
    CAPTURE(marked);
    master.containers[1].training = marked;
    broken(w.edit());
    w.reload();
    w.settle();
    CHECK(w.status().phase == job_phase::running);

    master.containers[0].state = container_state::terminated;
    w.settle();
    CHECK(w.status().phase == job_phase::running);  // the sidecar's end says nothing

    master.containers[1].state = container_state::terminated;
    w.settle();
    CHECK((w.status().phase == job_phase::succeeded) == marked);
    master.phase = pod_phase::succeeded;
    w.settle();
    CHECK(w.status().phase == job_phase::succeeded);
}

TEST_CASE("[behaviour 1.6] what a pod says goes before what the specification says", "[engine]") {
    world w(ddp());
    w.start();
    pod_record& master = w.pod("master", 0);
    add_sidecar(master, container_state::terminated);
    master.containers[0].training = true;
    master.containers[1].training = false;
    w.settle();
    CHECK(w.status().phase == job_phase::succeeded);
}

TEST_CASE("[behaviour 1.6] a pod that says nothing is judged by the specified name", "[engine]") {
    world w(ddp());
    w.start();
    pod_record& master = w.pod("master", 0);
    add_sidecar(master, container_state::terminated);
    master.containers[1].training = false;
    w.settle();
    CHECK(w.status().phase == job_phase::running);
    master.containers[1].state = container_state::terminated;
    w.settle();
    CHECK(w.status().phase == job_phase::succeeded);
}

TEST_CASE(
    "[behaviour 1.6] [behaviour 4.2] the only container of a pod that says nothing trains",
    "[engine]"
) {
    world w(ddp());
    w.start();
    container_record& only = w.pod("master", 0).containers[0];
    only.training = false;
    broken(w.edit());
    w.reload();
    only.state = container_state::terminated;  // the Pod's phase does not say so yet
    w.settle();
    CHECK(w.status().phase == job_phase::succeeded);
}
