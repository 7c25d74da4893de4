// SPDX-License-Identifier: Apache-2.0
//
// What a job needs of the cluster besides pods: PodGroup and TensorBoard (BEHAVIOUR.md 8, 9).
#include "engine/jobs.hpp"

#include <catch2/catch.hpp>

using namespace signalbox;
using namespace signalbox::test;
using core::job_phase;
using core::object_kind;
using core::seconds;
using core::served;

namespace {

job_builder gang_of(int workers = 2) {
    return ddp(workers).field("scheduler", R"({"t9kScheduler":{"queue":"q"}})");
}

job_builder with_board(const std::string& more = {}) {
    return ddp(1).field(
        "tensorboardSpec", R"({"image":"tb","trainingLogFilesets":["t9k://pvc/p/d"])" + more + "}"
    );
}

}  // namespace

TEST_CASE("[behaviour 8.4] no pod while the server does not serve PodGroups", "[engine]") {
    world w(gang_of());
    w.served.set(object_kind::pod_group, GENERATE(served::no, served::unknown));
    w.settle();
    CHECK(w.status().phase == job_phase::pending);
    CHECK(w.status().reason == "WaitingForPodGroup");
    CHECK(w.pods().empty());
    CHECK(w.children().empty());
    CHECK_FALSE(w.status().start_time.has_value());
    CHECK_FALSE(w.status().next_transition.has_value());
    CHECK(w.look().wake_up == w.now() + seconds(60));

    // A look that finds nothing new writes nothing.
    const int writes = w.status_writes;
    w.wake();
    CHECK(w.status_writes == writes);

    w.served.set(object_kind::pod_group, served::yes);
    w.settle();
    CHECK(w.count_children(object_kind::pod_group) == 1);
    CHECK(w.pods().size() == 3);
    CHECK(w.status().start_time.has_value());
}

TEST_CASE("[behaviour 8.4] running pods are left alone when the kind goes", "[engine]") {
    world w(gang_of());
    w.start();
    w.served.set(object_kind::pod_group, served::no);
    w.delete_child(object_kind::pod_group);
    w.settle();
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.pods().size() == 3);
}

TEST_CASE("[behaviour 8.3] [behaviour I9] the PodGroup precedes pods and is mended", "[engine]") {
    world w(gang_of());
    std::vector<std::string> order;
    w.gate = [&](const core::action& a) {
        order.emplace_back(core::to_string(a.kind));
        return true;
    };
    w.start();
    CHECK(order.front() == "PodGroup");
    w.gate = nullptr;

    const std::string uid = w.child_of(object_kind::pod_group)->uid;
    w.child_of(object_kind::pod_group)->fingerprint ^= 1;
    const auto d = w.look();
    REQUIRE(d.stages.size() == 1);
    CHECK(d.stages[0][0].what() == core::verb::patch);
    CHECK(d.stages[0][0].body().find(R"("minMember":3)") != std::string_view::npos);
    w.settle();

    w.exit("worker", 0, 1);
    w.settle();
    CHECK(w.status().attempt == 2);
    CHECK(w.child_of(object_kind::pod_group)->uid == uid);  // kept over restarts

    w.run_all();
    w.edit().pause();
    w.reload();
    w.settle();
    CHECK(w.count_children(object_kind::pod_group) == 0);
    w.edit().pause(false);
    w.reload();
    w.settle();
    CHECK(w.count_children(object_kind::pod_group) == 1);
    w.run_all();
    w.exit("master", 0, 0);
    w.settle();
    CHECK(w.status().phase == job_phase::succeeded);
    w.wake();
    CHECK(w.count_children(object_kind::pod_group) == 0);
}

TEST_CASE("[behaviour 8.3] its minimum follows the size", "[engine]") {
    world w(c10d(2).elastic(2, 8, 2).field("scheduler", R"({"t9kScheduler":{}})"));
    w.start();
    w.edit().elastic(2, 8, 6);
    w.reload();
    const std::string uid = w.child_of(object_kind::pod_group)->uid;
    w.settle();
    CHECK(w.child_of(object_kind::pod_group)->uid == uid);
    CHECK(w.pods().size() == 6);
    CHECK(
        core::preview_object(w.plan(), w.plan().objects[0], 1, {}).find(R"("minMember":2)") !=
        std::string::npos
    );
}

TEST_CASE("[behaviour 9.1] the cluster's own TensorBoard where it is served", "[engine]") {
    world w(with_board());
    w.start();
    CHECK(w.count_children(object_kind::tensorboard) == 1);
    CHECK(w.count_children(object_kind::deployment) == 0);
    REQUIRE(w.status().tensorboard.has_value());
    CHECK(w.status().tensorboard->type == "TensorBoard");
    CHECK(w.status().tensorboard->action == "Create");
    CHECK_FALSE(w.status().tensorboard->ready);
    CHECK(w.status().tensorboard->dependent->uid == w.child_of(object_kind::tensorboard)->uid);
    CHECK(w.status().tensorboard->dependent->api_version == "tensorstack.dev/v1beta1");

    // 9.2: what it says of itself is mirrored.
    w.child_of(object_kind::tensorboard)->reason = "NoVolume";
    w.settle();
    CHECK(w.status().tensorboard->reason == "NoVolume");
    w.child_of(object_kind::tensorboard)->ready = true;
    w.settle();
    CHECK(w.status().tensorboard->ready);
    CHECK(w.status().tensorboard->reason.empty());
}

TEST_CASE("[behaviour 9.1] a Deployment and a Service of ours where it is not", "[engine]") {
    world w(with_board());
    w.served.set(object_kind::tensorboard, served::no);
    w.start();
    CHECK(w.count_children(object_kind::tensorboard) == 0);
    CHECK(w.count_children(object_kind::deployment) == 1);
    CHECK(w.count_children(object_kind::service) == 3);
    CHECK(w.status().tensorboard->type == "Deployment");
    CHECK(w.status().tensorboard->dependent->api_version == "apps/v1");

    // One that is there stays, though the kind appears.
    w.served.set(object_kind::tensorboard, served::yes);
    w.settle();
    CHECK(w.count_children(object_kind::tensorboard) == 0);
    CHECK(w.count_children(object_kind::deployment) == 1);
}

TEST_CASE("[behaviour 9.1] nothing is made before discovery has answered", "[engine]") {
    world w(with_board());
    w.served.set(object_kind::tensorboard, served::unknown);
    w.start();
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.count_children(object_kind::tensorboard) == 0);
    CHECK(w.count_children(object_kind::deployment) == 0);
    CHECK(w.status().tensorboard->reason == "WaitingForDiscovery");
    w.served.set(object_kind::tensorboard, served::yes);
    w.settle();
    CHECK(w.count_children(object_kind::tensorboard) == 1);
}

TEST_CASE("[behaviour 9.2] ours waits until training has started once", "[engine]") {
    world w(with_board());
    w.served.set(object_kind::tensorboard, served::no);
    w.settle();
    CHECK_FALSE(w.pods().empty());
    CHECK(w.count_children(object_kind::deployment) == 0);
    CHECK(w.count_children(object_kind::service) == 2);
    CHECK(w.status().tensorboard->type == "Deployment");
    CHECK(w.status().tensorboard->reason == "WaitingForTraining");
    SECTION("a worker is not the deciding pod") {
        w.run(w.pod("worker", 0));
        w.settle();
        CHECK(w.count_children(object_kind::deployment) == 0);
    }
    w.run(w.pod("master", 0));
    w.settle();
    CHECK(w.count_children(object_kind::deployment) == 1);
    CHECK(w.count_children(object_kind::service) == 3);

    // Lost in a later attempt it does not wait for that one's start.
    w.run_all();
    w.exit("worker", 0, 1);
    w.settle();
    CHECK(w.status().attempt == 2);
    w.delete_child(object_kind::deployment);
    w.settle();
    CHECK(w.count_children(object_kind::deployment) == 1);
}

TEST_CASE("[behaviour 9.2] a job that never trained has none", "[engine]") {
    world w(with_board());
    w.served.set(object_kind::tensorboard, served::no);
    w.settle();
    w.edit().pause();
    w.reload();
    w.settle();
    CHECK(w.status().phase == job_phase::paused);
    CHECK(w.count_children(object_kind::deployment) == 0);
    CHECK(w.status().tensorboard->reason == "WaitingForTraining");
}

TEST_CASE(
    "[behaviour 9.2] [behaviour 10.3] suspend acts in a pause and after the end", "[engine]"
) {
    world w(with_board());
    w.served.set(object_kind::tensorboard, served::no);
    w.start();
    SECTION("pause") {
        w.edit().pause();
        w.reload();
        w.settle();
        REQUIRE(w.status().phase == job_phase::paused);
    }
    SECTION("the end") {
        w.exit("master", 0, 0);
        w.settle();
        w.wake();
        REQUIRE(w.status().phase == job_phase::succeeded);
    }
    w.edit().field(
        "tensorboardSpec",
        R"({"image":"tb","suspend":true,"trainingLogFilesets":["t9k://pvc/p/d"]})"
    );
    w.reload();
    const auto d = w.look();
    REQUIRE(d.stages.size() == 1);
    REQUIRE(d.stages[0].size() == 1);
    CHECK(d.stages[0][0].what() == core::verb::patch);
    CHECK(d.stages[0][0].body().find(R"("replicas":0)") != std::string_view::npos);
    w.settle();
    CHECK(w.look().stages.empty());

    w.edit().field("tensorboardSpec", "null");
    w.reload();
    w.settle();
    CHECK(w.count_children(object_kind::deployment) == 0);
}

TEST_CASE("[behaviour 9.2] a refused TensorBoard neither fails nor delays the job", "[engine]") {
    world w(with_board());
    w.gate = [](const core::action& a) { return a.kind != object_kind::tensorboard; };
    for (int i = 0; i < 6; ++i) {
        w.pass();
    }
    const std::string& board = w.plan().companions.front().name;
    w.refusals.push_back(refused(w, object_kind::tensorboard, board, 403, "forbidden", 0));
    w.start();
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.status().tensorboard->reason == "ObjectRefused");
    CHECK(w.status().tensorboard->note == "forbidden");
    w.exit("master", 0, 0);
    w.settle();
    CHECK(w.status().phase == job_phase::succeeded);
}

TEST_CASE("[behaviour 9.2] it outlives pods, pause and end, and goes when unasked", "[engine]") {
    world w(with_board());
    w.served.set(object_kind::tensorboard, served::no);
    w.start();
    SECTION("pause") {
        w.edit().pause();
        w.reload();
        w.settle();
        CHECK(w.count_children(object_kind::deployment) == 1);
        CHECK(w.count_children(object_kind::service) == 3);
    }
    SECTION("the end") {
        w.exit("master", 0, 0);
        w.settle();
        CHECK(w.status().phase == job_phase::succeeded);
        w.wake();
        CHECK(w.count_children(object_kind::deployment) == 1);
        CHECK(w.count_children(object_kind::service) == 1);
        w.child_of(object_kind::deployment)->ready = true;
        w.settle();
        CHECK(w.status().tensorboard->ready);
    }
    SECTION("an edit of its specification") {
        w.edit().field(
            "tensorboardSpec", R"({"image":"tb2","trainingLogFilesets":["t9k://pvc/p/d"]})"
        );
        w.reload();
        const auto d = w.look();
        REQUIRE_FALSE(d.stages.empty());
        CHECK(d.stages.back().back().what() == core::verb::patch);
        CHECK(d.stages.back().back().body().find("tb2") != std::string_view::npos);
        w.settle();
        CHECK(w.status().tensorboard->action == "Update");
        CHECK(w.status().phase == job_phase::running);
    }
    SECTION("taken out of the specification") {
        w.edit().field("tensorboardSpec", "null");
        w.reload();
        w.settle();
        CHECK(w.count_children(object_kind::deployment) == 0);
        CHECK(w.count_children(object_kind::service) == 2);
        CHECK_FALSE(w.status().tensorboard.has_value());
    }
}

TEST_CASE("[behaviour 9.1] a suspended one is scaled to 0", "[engine]") {
    world w(with_board(R"(,"suspend":true)"));
    w.served.set(object_kind::tensorboard, served::no);
    w.start();
    const auto& objects = w.plan().companions;
    const auto deployment =
        std::ranges::find(objects, object_kind::deployment, &core::planned_object::kind);
    REQUIRE(deployment != objects.end());
    CHECK(
        core::preview_object(w.plan(), *deployment, 1, {}).find(R"("replicas":0)") !=
        std::string::npos
    );
    CHECK(w.status().tensorboard->reason == "Suspended");
}
