// SPDX-License-Identifier: Apache-2.0
//
// The life of a job that nothing happens to: creation, phases, success, clean-up.
#include "engine/jobs.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::core;
using signalbox::test::at;
using signalbox::test::ddp;
using signalbox::test::job_builder;
using signalbox::test::world;

TEST_CASE(
    "[behaviour 2.1] the attempt is on record before services, these before pods", "[engine]"
) {
    world w(ddp());
    w.pass();
    CHECK(w.status().attempt == 1);
    CHECK(w.pods().empty());
    CHECK(w.children().empty());
    w.pass();
    CHECK(w.children().size() == 2);
    CHECK(w.pods().empty());
    w.pass();
    CHECK(w.pods().size() == 3);
}

TEST_CASE("[behaviour 4.9] Running when every training container runs", "[engine]") {
    world w(ddp());
    w.settle();
    CHECK(w.status().phase == job_phase::pending);
    CHECK(w.status().reason == "CreatingPods");
    w.run(w.pod("master", 0));
    w.run(w.pod("worker", 0));
    w.settle();
    CHECK(w.status().phase == job_phase::pending);
    CHECK(w.status().ready == "2/3");
    w.run(w.pod("worker", 1));
    w.settle();
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.condition("Running") == "True/ReplicasRunning");
    CHECK(w.condition("Initialized") == "True/ReplicasAccepted");
    CHECK(w.count_events("Running") == 1);
}

TEST_CASE("[behaviour 5.1] the master's exit 0 is success; sidecars never decide", "[engine]") {
    world w(ddp());
    w.start();
    w.wait(seconds{90});
    auto& master = w.pod("master", 0);
    master.containers.push_back({"proxy", container_state::running, false, false, 0, "", "", {}, {}}
    );
    w.exit(master, 0);
    master.phase = pod_phase::running;  // the sidecar runs on
    w.settle();
    CHECK(w.status().phase == job_phase::succeeded);
    CHECK(w.condition("Completed") == "True/Succeeded");
    CHECK(w.condition("Failed") == "False/Succeeded");
    CHECK(w.condition("Running") == "False/Succeeded");
    CHECK(w.status().completion_time == at(90));
    CHECK(w.status().duration == "1m30s");
    CHECK(w.has_event("Succeeded"));
}

TEST_CASE("[api 1.13] a container beside the training fails: told once, nothing ends", "[engine]") {
    world w(ddp());
    w.start();
    auto& worker = w.pod("worker", 1);
    container_record side{"side", container_state::running, false, false, 0, "", "", {}, {}};
    worker.containers.insert(worker.containers.begin(), side);
    w.settle();
    CHECK(w.count_events("ContainerFailed") == 0);
    worker.containers.front().state = container_state::terminated;
    w.settle();
    CHECK(w.count_events("ContainerFailed") == 0);  // it ended well
    worker.containers.front().exit_code = 3;
    w.settle();
    w.wait(seconds{90});
    w.settle();
    CHECK(w.count_events("ContainerFailed") == 1);
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.status().reason == "ContainerFailed");
    CHECK(w.status().backoff_count == 0);
    w.exit(w.pod("master", 0), 0);
    w.settle();
    CHECK(w.status().phase == job_phase::succeeded);
}

TEST_CASE("[api 1.13] a job goes on with the container that an older version took", "[engine]") {
    const auto read = [](const std::string& status) {
        signalbox::test::replica worker;
        worker.pod_template =
            R"({"spec":{"containers":[{"name":"a","image":"i"},{"name":"b","image":"i"}]}})";
        auto text = job_builder().replicas(worker).json();
        text.insert(1, R"("status":)" + status + ',');
        return read_job(text, nullptr);
    };
    CHECK_FALSE(read(R"({"attempt":0})")->compiled->plan.has_value());
    const auto begun = read(R"({"attempt":2})");
    REQUIRE(begun->compiled->plan.has_value());
    CHECK(begun->compiled->plan->types[0].training_container == "a");
}

TEST_CASE(
    "[behaviour 10.2] what was compiled is used until the specification changes", "[engine]"
) {
    const auto read = [](const job_builder& job, const job_object& before) {
        return *read_job(job.json(), before.compiled);
    };
    const job_object first = *read_job(ddp().generation(7).json());
    CHECK(read(ddp().generation(7), first).compiled == first.compiled);
    CHECK(read(ddp().generation(8), first).compiled != first.compiled);
    // A server that was restored from a backup counts the generations anew.
    const job_object restored =
        read(ddp().generation(7).run_policy("\"cleanUpPolicy\":\"All\""), first);
    CHECK(restored.compiled != first.compiled);
    CHECK(restored.compiled->spec->policy.clean_up == clean_up_policy::all);
}

TEST_CASE("[behaviour 5.13] clean-up follows the policy and then takes the services", "[engine]") {
    const auto [policy, pods_left] = GENERATE(
        std::pair{"All", std::size_t{0}},
        std::pair{"Unfinished", std::size_t{2}},
        std::pair{"None", std::size_t{3}},
        std::pair{"unfinished", std::size_t{2}}
    );
    world w(ddp().run_policy("\"cleanUpPolicy\":\"" + std::string(policy) + "\""));
    w.start();
    w.exit("worker", 0, 0);
    w.settle();
    w.exit("master", 0, 0);
    w.settle();
    CHECK(w.status().phase == job_phase::succeeded);
    CHECK(w.pods().size() == 3);  // worker 1 may still end by itself
    w.wake();
    CHECK(w.pods().size() == pods_left);
    CHECK(w.children().empty());
    CHECK(w.count_events("CleanedUp") == 1);
    CHECK_FALSE(w.pass());
}

TEST_CASE("[behaviour 4.1] a final phase is left by nothing", "[engine]") {
    world w(ddp());
    w.start();
    w.exit("master", 0, 0);
    w.pass();
    const auto completion = w.status().completion_time;
    w.edit().pause();
    w.reload();
    w.wait(seconds{100});
    w.exit("worker", 0, 1);
    w.settle();
    CHECK(w.status().phase == job_phase::succeeded);
    CHECK(w.status().completion_time == completion);
    CHECK(w.status().backoff_count == 0);
}

TEST_CASE("[behaviour 5.1] torchrun: a failed peer outranks the success of pod 0", "[engine]") {
    world w(job_builder("mnist").replicas("node", 2).torchrun(3));
    w.start();
    w.exit("node", 1, 1);
    w.exit("node", 0, 0);
    w.settle();
    CHECK(w.status().phase != job_phase::succeeded);
    CHECK(w.status().backoff_count == 1);
    CHECK(w.status().attempt == 2);
}

TEST_CASE(
    "[behaviour 5.1] torchrun: clean-up waits for the exit barrier of the peers", "[engine]"
) {
    world w(job_builder("mnist").replicas("node", 4).torchrun(3));
    w.start();
    w.exit("node", 0, 0);
    w.settle();
    REQUIRE(w.status().phase == job_phase::succeeded);
    CHECK(w.pods().size() == 4);
    CHECK(w.children().size() == 2);
    REQUIRE(w.status().next_transition);
    CHECK(w.status().next_transition->time == *w.status().completion_time + seconds{300});
    w.exit("node", 1, 0);
    w.settle();
    CHECK(w.children().size() == 2);
    SECTION("all others ended") {
        w.exit("node", 2, 0);
        w.exit("node", 3, 0);
        w.settle();
        CHECK(w.children().empty());
    }
    SECTION("not once one of them has failed") {
        w.exit("node", 2, 1);
        w.settle();
        CHECK(w.status().phase == job_phase::succeeded);
        CHECK(w.children().empty());
    }
    SECTION("at most 300 s") {
        w.wait(seconds{300});
        w.settle();
        CHECK(w.children().empty());
        CHECK(w.pods().size() == 2);
    }
}

TEST_CASE("[behaviour 5.2] a replica that exited 0 is not made again", "[engine]") {
    world w(ddp());
    w.start();
    w.exit("worker", 1, 0);
    w.settle();
    w.vanish("worker", 1);
    w.settle();
    CHECK(w.pods().size() == 2);
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.status().aggregate->succeeded == 1);
    CHECK(w.status().backoff_count == 0);
    CHECK(w.status().restarts.disruptions == 0);
}

TEST_CASE("[behaviour 5.14] the job is deleted after its time to live", "[engine]") {
    world w(ddp().run_policy("\"ttlSecondsAfterFinished\":60"));
    w.start();
    w.exit("worker", 0, 0);
    w.exit("worker", 1, 0);
    w.exit("master", 0, 0);
    w.settle();
    REQUIRE(w.status().next_transition);
    CHECK(w.status().next_transition->reason == "TTL");
    CHECK_FALSE(w.job_deleted);
    w.wait(seconds{60});
    w.pass();
    CHECK(w.job_deleted);
    CHECK(std::get<delete_object>(w.last().stages.front().front().request).foreground);
}

TEST_CASE("[behaviour 4.15] aggregate counts every wanted replica once", "[engine]") {
    world w(ddp(3));
    const auto sum = [&] {
        const auto a = w.status().aggregate.value_or(aggregate_counts{});
        return a.creating + a.pending + a.running + a.succeeded + a.failed + a.unknown + a.deleted;
    };
    w.pass();
    CHECK(w.status().aggregate->creating == 4);
    w.settle();
    CHECK(sum() == 4);
    w.pod("worker", 0).scheduled = true;
    w.run(w.pod("worker", 1));
    w.pod("worker", 2).phase = pod_phase::unknown;
    w.settle();
    CHECK(*w.status().aggregate == aggregate_counts{1, 1, 1, 0, 0, 1, 0});
    CHECK(w.status().replicas == 4);
}

TEST_CASE("[api status.tasks] the deciding type first, exit codes, at most 256", "[engine]") {
    world w(job_builder("mnist").replicas("ps", 0).replicas("worker", 400).replicas("eval", 3));
    w.settle();
    const auto& tasks = w.status().tasks;
    REQUIRE(tasks.size() == 3);
    CHECK(tasks[0].type == "worker");
    CHECK(tasks[0].replicas.front().name == w.pod("worker", 0).name);
    CHECK(tasks[2].type == "eval");
    CHECK(tasks[2].replicas.size() == 1);
    CHECK(tasks[0].replicas.size() + tasks[1].replicas.size() + tasks[2].replicas.size() <= 256);
    w.run_all();
    w.exit("worker", 1, 0);
    w.settle();
    const auto& c = w.status().tasks[0].replicas[1].containers.at(0);
    CHECK(c.state == "Terminated");
    CHECK(c.exit_code == 0);
}

TEST_CASE("[behaviour 4.16] only differences in counts may be deferred", "[engine]") {
    world w(ddp());
    w.settle();
    w.run(w.pod("worker", 0));
    CHECK(w.look().deferrable());
    w.run(w.pod("worker", 1));
    w.run(w.pod("master", 0));
    CHECK_FALSE(w.look().deferrable());
}

TEST_CASE("[behaviour 4.16] that training has started may wait to be written", "[engine]") {
    world w(ddp());
    w.settle();
    w.run(w.pod("master", 0));
    const decision d = w.look();
    REQUIRE(d.status);
    CHECK(d.status->training == training_state::started);
    CHECK(d.deferrable());
}

TEST_CASE("[behaviour 4.16] nothing is written when nothing differs", "[engine]") {
    world w(ddp());
    w.start();
    const int writes = w.status_writes;
    w.wait(seconds{3600});
    w.settle();
    CHECK(w.status_writes == writes);
}

TEST_CASE("[behaviour 2.6] a deleted service is made again, an edited one patched", "[engine]") {
    world w(ddp());
    w.start();
    w.children().pop_front();
    w.settle();
    CHECK(w.children().size() == 2);
    if (GENERATE(true, false)) {
        w.children().front().fingerprint ^= 1;
    } else {
        ++w.children().front().selected_attempt;
    }
    const auto d = w.look();
    REQUIRE(d.stages.size() == 1);
    CHECK(d.stages[0].at(0).what() == verb::patch);
    CHECK(d.stages[0].at(0).uid() == w.children().front().uid);
    CHECK(d.stages[0].at(0).body().find(w.children().front().uid) != std::string::npos);
    w.settle();
    CHECK(w.pods().size() == 3);
    CHECK(w.status().phase == job_phase::running);
}

TEST_CASE("[behaviour 2.5] a job being deleted gets no child", "[engine]") {
    world w(ddp().deleted_at(at(0)));
    CHECK(w.look() == decision{});
}

TEST_CASE("[behaviour 2.9] a job managed by another controller is ignored whole", "[engine]") {
    world w(ddp().field("managedBy", "\"kueue.x-k8s.io/multikueue\""));
    CHECK(w.look() == decision{});
}

TEST_CASE("[behaviour 4.2] an invalid job that never started fails, with one event", "[engine]") {
    world w(job_builder("mnist").replicas("Worker_1", 1));
    w.settle();
    CHECK(w.status().phase == job_phase::failed);
    CHECK(w.status().reason == "InvalidSpec");
    CHECK(w.condition("Failed") == "True/InvalidSpec");
    CHECK(w.count_events("InvalidSpec") == 1);
    CHECK(std::ranges::find(w.events, "InvalidSpec", &event::reason)->message.starts_with("/spec"));
    CHECK(w.pods().empty());
}

TEST_CASE("[behaviour 4.2] an invalid job that had started still obeys its master", "[engine]") {
    world w(ddp());
    w.start();
    w.edit().field("runPolicy", "{\"backoffLimit\":-4}");
    w.reload();
    w.settle();
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.status().reason == "InvalidSpec");
    w.exit("worker", 0, 1);
    w.settle();
    CHECK(w.status().backoff_count == 0);
    CHECK(w.status().phase == job_phase::running);
    w.exit("master", 0, 0);
    w.settle();
    CHECK(w.status().phase == job_phase::succeeded);
}

TEST_CASE(
    "[behaviour 10.2] an edit that got past the rules is told and starts nothing", "[engine]"
) {
    world w(ddp(2));
    w.start();
    const int creates = w.creates;
    const std::string edit = GENERATE("a type", "a restart policy", "a size");
    CAPTURE(edit);
    if (edit == "a type") {
        w.edit().replicas(signalbox::test::replica{.type = "late", .replicas = 0});
    } else {
        w.edit() = edit == "a size" ? ddp(3) : ddp(2, "Never");
    }
    w.reload();
    w.settle();
    CHECK(w.count_events("SpecChanged") == 1);
    CHECK(w.creates == creates);
    CHECK(w.status().attempt == 1);
    CHECK(w.status().phase == job_phase::running);
}

TEST_CASE("[behaviour 10.2] what may be edited at any time is not told", "[engine]") {
    world w(ddp(2));
    w.start();
    w.edit().run_policy(
        R"("backoffLimit":7,"activeDeadlineSeconds":900,"cleanUpPolicy":"All","ttlSecondsAfterFinished":5)"
    );
    w.edit().field("tensorboardSpec", R"({"image":"t","trainingLogFilesets":["t9k://pvc/p/d"]})");
    w.reload();
    w.settle();
    CHECK_FALSE(w.has_event("SpecChanged"));

    // While paused anything may be edited.
    w.edit().pause();
    w.reload();
    w.settle();
    w.edit() = ddp(3).pause();
    w.reload();
    w.settle();
    w.edit().pause(false);
    w.reload();
    w.settle();
    CHECK_FALSE(w.has_event("SpecChanged"));
    CHECK(w.pods().size() == 4);
}

TEST_CASE("[behaviour 5.14] a completion time in the future is waited for, told once", "[engine]") {
    world w(ddp(1).run_policy("\"ttlSecondsAfterFinished\":10"));
    w.start();
    w.exit("master", 0, 0);
    w.settle();
    const auto end = *w.status().completion_time;
    w.status().completion_time = end + seconds(3600);
    w.status().next_transition.reset();
    w.events.clear();
    w.settle();
    w.settle();
    CHECK(w.count_events("CleanedUp") == 1);
    w.to(end + seconds(3609));
    w.settle();
    CHECK_FALSE(w.job_deleted);
    w.to(end + seconds(3610));
    w.pass();
    CHECK(w.job_deleted);
}

TEST_CASE(
    "[behaviour 12.13] of a compiled job no text of its templates is kept twice", "[engine]"
) {
    const job_object job = *read_job(ddp().json());
    REQUIRE_FALSE(job.compiled->spec->replicas.empty());
    for (const replica_spec& replica : job.compiled->spec->replicas) {
        CHECK(replica.pod_template.capacity() == std::string().capacity());
    }
}
