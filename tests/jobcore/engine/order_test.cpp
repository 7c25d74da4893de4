// SPDX-License-Identifier: Apache-2.0
//
// Several rules apply at once: which comes first, and what waits (BEHAVIOUR.md 4, 5.3, 5.6, 12.3).
#include "engine/jobs.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::core;
using signalbox::test::at;
using signalbox::test::c10d;
using signalbox::test::ddp;
using signalbox::test::deepspeed;
using signalbox::test::job_builder;
using signalbox::test::refused;
using signalbox::test::world;

TEST_CASE("[behaviour 4.3] the deciding pod's failure comes before a pause", "[engine]") {
    world w(ddp(2, "Never"));
    w.start();
    w.wait(seconds{10});
    w.exit("master", 0, 1);
    w.edit().pause();
    w.reload();
    w.settle();
    CHECK(w.status().phase == job_phase::failed);
    CHECK(w.status().start_time == at(0));
    CHECK_FALSE(w.has_event("Paused"));
}

TEST_CASE("[behaviour 7.2] what was lost is recorded before a new size", "[engine]") {
    world w(c10d(3).elastic(2, 4, 3));
    w.start();
    w.wait(seconds{1000});
    w.exit("node", 2, 137);
    w.edit().elastic(2, 4, 2);
    w.reload();
    w.settle();
    CHECK(w.status().tasks.front().wanted == 2);
    CHECK(w.status().backoff_count == 1);
}

TEST_CASE(
    "[behaviour 4.2] a failure of the deciding pod waits for a valid specification", "[engine]"
) {
    world w(ddp());
    w.start();
    w.status().backoff_count = 1000;
    w.edit().field("runPolicy", "{\"backoffLimit\":-4}");
    w.reload();
    w.exit("master", 0, 1);
    w.settle();
    CHECK(w.status().phase == job_phase::running);
    w.edit().field("runPolicy", "{\"backoffLimit\":4}");
    w.reload();
    w.settle();
    CHECK(w.status().phase == job_phase::failed);
}

TEST_CASE("[behaviour 5.12] a pause that waits for an absence wins too", "[engine]") {
    world w(ddp().run_policy("\"activeDeadlineSeconds\":100"));
    w.start();
    w.wait(seconds{200});
    w.exit("master", 0, 1);
    w.vanish("worker", 0);
    w.edit().pause();
    w.reload();
    w.settle();
    CHECK(w.status().phase == job_phase::paused);
}

TEST_CASE("[behaviour 5.12] the deadline passes while an exit settles", "[engine]") {
    world w(c10d().run_policy("\"activeDeadlineSeconds\":100"));
    w.start();
    w.wait(seconds{95});
    w.exit("node", 1, 1);
    w.settle();
    REQUIRE(w.status().restarts.settling.has_value());
    w.to(at(100));
    w.settle();
    CHECK(w.status().phase == job_phase::failed);
    CHECK(w.status().reason == "DeadlineExceeded");
}

TEST_CASE("[behaviour 5.3] a missing pod is confirmed before lost keys are answered", "[engine]") {
    world w(deepspeed(2));
    w.settle();
    w.run(w.pod("worker", 0));
    w.settle();
    w.vanish("worker", 1);
    w.child_of(object_kind::secret)->deleting = true;
    w.settle();
    CHECK(w.status().attempt == 2);
    CHECK(w.status().restarts.disruptions == 1);
    REQUIRE(w.status().restarts.last);
    CHECK(w.status().restarts.last->pods.size() == 1);
}

TEST_CASE("[behaviour 5.6] a repeated run and a new size wait while an exit settles", "[engine]") {
    const bool repeat = GENERATE(true, false);
    world w(
        repeat ? job_builder("mnist").replicas("node", 3, "Always").torchrun(3)
               : c10d(3).elastic(2, 4, 3)
    );
    w.start();
    w.wait(seconds{100});
    w.exit("node", 2, 1);
    if (repeat) {
        w.exit("node", 1, 0);
    } else {
        w.edit().elastic(2, 4, 4);
        w.reload();
    }
    w.to(at(115) - milliseconds{1});
    w.settle();
    CHECK(w.status().restarts.replaced.empty());
    CHECK(w.pods().size() == 3);
    w.to(at(115));
    w.settle();
    CHECK(w.status().restarts.replaced.size() == (repeat ? 2U : 1U));
    w.finish_deletions();
    w.wait(seconds{20});
    w.settle();
    CHECK(w.pods().size() == (repeat ? 3U : 4U));
}

TEST_CASE("[behaviour 1.3] a stuck pod is renamed while another settles", "[engine]") {
    world w(c10d());
    w.start();
    w.slow_deletes = true;
    w.wait(seconds{1000});
    w.exit("node", 1, 137);
    w.settle();
    w.wait(seconds{80});
    w.exit("node", 2, 1);
    w.wait(seconds{12});  // longer than a pod may take to be deleted
    w.settle();
    REQUIRE(w.status().restarts.settling.has_value());
    CHECK(w.status().restarts.renamed == std::vector<renamed_index>{{"node", 1, 1}});
    CHECK(w.pod("node", 1).name.ends_with("-node-1-r1"));
}

TEST_CASE(
    "[behaviour 1.3] where the list of new names is full a name held by a gone pod is waited for",
    "[engine]"
) {
    world w(c10d());
    w.start();
    w.rules().renamed_in_status = 0;
    w.wait(seconds{1000});
    auto held = w.pod("node", 1);
    held.attempt = gone_attempt;
    held.uid = "held";
    held.deletion = w.now() - seconds{100};
    w.pods().push_back(held);
    w.exit("node", 1, 137);
    w.settle();
    REQUIRE(w.status().restarts.replaced.size() == 1);
    CHECK(w.pods().size() == 3);
    w.pods().remove_if([](const pod_record& p) { return p.attempt == gone_attempt; });
    w.settle();
    CHECK(w.pods().size() == 3);
}

TEST_CASE("[behaviour 4.10] the write of a new round counts the lost pod no more", "[engine]") {
    world w(c10d(3).elastic(3, 4, 3));
    w.start();
    w.wait(seconds{1000});
    w.ask_deletion(w.pod("node", 1));
    w.pass();
    CHECK(w.status().restarts.replaced.size() == 1);
    CHECK(w.status().phase == job_phase::pending);
    CHECK(w.status().reason == "BelowMinReplicas");
}

TEST_CASE("[behaviour 4.9] a replica that completes is up in the same look", "[engine]") {
    world w(ddp());
    w.settle();
    w.run(w.pod("master", 0));
    w.run(w.pod("worker", 1));
    w.exit("worker", 0, 0);
    w.pass();
    CHECK(w.status().restarts.completed.size() == 1);
    CHECK(w.status().phase == job_phase::running);
}

TEST_CASE("[behaviour 5.3] a missing pod is confirmed before a peer's exit is judged", "[engine]") {
    const auto kind = GENERATE(0, 1);
    world w(kind == 0 ? ddp(2) : ddp(2, "Never"));
    w.start();
    w.wait(seconds{100});
    w.exit(kind == 0 ? "worker" : "master", 0, 1);
    w.vanish("worker", 1);
    w.settle();
    CHECK(w.status().attempt == 2);
    CHECK(w.status().backoff_count == 0);
    CHECK(w.status().restarts.disruptions == 1);
}

TEST_CASE("[behaviour 5.6] an exit that is seen later does not move the settle time", "[engine]") {
    world w(c10d(4));
    w.start();
    w.wait(seconds{100});
    w.exit("node", 1, 1);
    w.settle();
    w.exit("node", 2, 1);
    w.pod("node", 2).containers.at(0).finished = at(95);
    w.settle();
    CHECK(w.status().next_transition == transition{at(115), "Settle"});
    w.to(at(112));
    w.settle();
    CHECK(w.status().backoff_count == 0);
}

TEST_CASE("[behaviour 4.16] a new size is written at once, a seen pod may wait", "[engine]") {
    world w(c10d(3).elastic(2, 4, 3));
    w.start();
    w.wait(seconds{100});
    w.exit("node", 1, 1);
    w.settle();
    w.edit().elastic(2, 4, 4);
    w.reload();
    w.settle();  // the new generation is on record, its size waits
    w.wait(seconds{15});
    w.pass();
    REQUIRE(w.status().restarts.replaced.size() == 1);
    const auto d = w.look();
    REQUIRE(d.status);
    REQUIRE(d.status->tasks.front().wanted == 4);
    CHECK_FALSE(d.deferrable());
    w.settle();
    w.run_all();
    w.edit().elastic(2, 5, 5);
    w.reload();
    w.pass();
    w.pass();
    REQUIRE(w.pods().size() == 5);
    const auto seen = w.look();
    REQUIRE(seen.status);
    CHECK(seen.status->restarts.seen != w.status().restarts.seen);
    CHECK(seen.deferrable());
}

TEST_CASE("[behaviour 5.6] with restartScope an exit does not settle", "[engine]") {
    world w(c10d().run_policy(R"("restartScope":"Replica")"));
    w.start();
    w.wait(seconds{100});
    w.exit("node", 1, 1);
    w.pass();
    CHECK(w.status().backoff_count == 1);
    CHECK_FALSE(w.status().restarts.settling.has_value());
}

TEST_CASE("[behaviour 5.10] a replica that is given up settles no more", "[engine]") {
    world w(c10d().run_policy(R"("failurePolicy":"Master")"));
    w.start();
    w.status().backoff_count = 3;
    w.wait(seconds{100});
    w.exit("node", 1, 1);
    w.settle();
    REQUIRE(w.status().restarts.settling.has_value());
    REQUIRE(w.look().wake_up);
    w.to(*w.look().wake_up);
    w.pass();
    CHECK(w.status().restarts.given_up.size() == 1);
    CHECK_FALSE(w.status().restarts.settling.has_value());
    w.settle();
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.status().restarts.given_up.size() == 1);
    CHECK_FALSE(w.status().restarts.settling.has_value());
    CHECK_FALSE(w.has_event("StatusRepaired"));
}

TEST_CASE("[behaviour 7.2] a replica that left and comes back starts anew", "[engine]") {
    const int code = GENERATE(0, 1);
    world w(c10d(3).elastic(2, 4, 3));
    w.start();
    w.status().backoff_count = 3;
    w.wait(seconds{100});
    w.exit("node", 2, code);
    w.settle();
    w.wait(seconds{15});
    w.settle();
    REQUIRE((code == 0 ? w.status().restarts.completed : w.status().restarts.given_up).size() == 1);
    for (const int size : {2, 3}) {
        w.edit().elastic(2, 4, size);
        w.reload();
        w.settle();
        CHECK(w.status().restarts.completed.empty());
        CHECK(w.status().restarts.given_up.empty());
    }
    CHECK(w.pod("node", 2).round == 1);
}

TEST_CASE(
    "[behaviour 1.3] a name held by a gone pod is left to it, every new one differs", "[engine]"
) {
    world w(c10d());
    w.start();
    w.wait(seconds{1000});
    for (const char* name : {"-node-1-r1", "-node-1-r2"}) {
        auto held = w.pod("node", 1);
        held.attempt = gone_attempt;
        held.uid += "-held";
        held.name = held.name.substr(0, held.name.find("-node-1")) + "-node-1";
        held.deletion = w.now() - seconds{100};
        w.pods().push_back(held);
        w.exit("node", 1, 137);
        w.settle();
        CHECK(w.pod("node", 1).name.ends_with(name));
        w.wait(seconds{1000});
        w.run_all();
        w.pods().remove_if([](const pod_record& p) { return p.attempt == gone_attempt; });
    }
}

TEST_CASE("[behaviour 2.8] a right that is missing holds one pod, a quota all", "[engine]") {
    const bool quota = GENERATE(true, false);
    world w(ddp());
    w.refusals.push_back(refused(
        w,
        object_kind::pod,
        w.plan().base_name + "-worker-1",
        403,
        quota ? "exceeded quota: gpus" : "User \"me\" cannot create resource \"pods\""
    ));
    w.settle();
    CHECK(w.pods().size() == (quota ? 0U : 2U));
    CHECK(w.status().reason == (quota ? "QuotaExceeded" : "ObjectRefused"));
}

TEST_CASE("[behaviour 2.5] a namespace that is being deleted fails no job", "[engine]") {
    world w(ddp());
    auto r = refused(
        w, object_kind::pod, w.plan().base_name + "-worker-1", 403, "it is being terminated"
    );
    r.namespace_terminating = true;
    w.refusals.push_back(r);
    w.settle();
    CHECK(w.status().phase == job_phase::pending);
    CHECK(w.status().reason == "ObjectRefused");
}

TEST_CASE("[behaviour 2.8] a refusal of the round before is no failure", "[engine]") {
    world w(c10d());
    w.start();
    w.wait(seconds{1000});
    w.refusals.push_back(
        refused(w, object_kind::pod, w.plan().base_name + "-node-1", 422, "limits are missing")
    );
    w.exit("node", 1, 137);
    w.settle();
    CHECK(w.status().backoff_count == 1);
    CHECK(w.status().restarts.replaced == std::vector<replaced_index>{{"node", 1, 1}});
    CHECK(w.pods().size() == 3);
}

TEST_CASE("[behaviour 1.8] a taken name is told although a held one is waited for", "[engine]") {
    world w(c10d(3).elastic(2, 8, 3));
    w.start();
    w.slow_deletes = true;
    w.wait(seconds{1000});
    w.exit("node", 1, 137);
    w.settle();
    auto r = refused(w, object_kind::pod, w.plan().base_name + "-node-3", 409);
    r.foreign_owner = true;
    w.refusals.push_back(r);
    w.edit().elastic(2, 8, 4);
    w.reload();
    w.settle();
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.count_events("NameConflict") == 1);
}

TEST_CASE("[behaviour 3.9] a pod that somebody deleted did not exit", "[engine]") {
    world w(c10d());
    w.start();
    w.ask_deletion(w.pod("node", 1));
    w.pass();
    CHECK(find_condition(w.status(), "ReplicaFailure")->message.ends_with("-node-1 was deleted"));
}

TEST_CASE("[behaviour 5.6] a settling pod that the job does not know is passed over", "[engine]") {
    world w(c10d());
    w.start();
    w.exit("node", 1, 1);
    w.settle();
    w.status().restarts.settling->pods.push_back({"stranger", "", 1, ""});
    w.wake();
    CHECK(w.status().restarts.replaced == std::vector<replaced_index>{{"node", 1, 1}});
}

TEST_CASE("[behaviour 5.13] a scheduled pod whose training never started goes too", "[engine]") {
    world w(ddp().run_policy(R"("cleanUpPolicy":"None")"));
    w.settle();
    w.run(w.pod("master", 0));
    w.run(w.pod("worker", 0));
    w.pod("worker", 1).scheduled = true;
    w.settle();
    w.exit("master", 0, 0);
    w.settle();
    CHECK(w.pods().size() == 2);
    CHECK(w.find("worker", 1) == nullptr);
}

TEST_CASE("[behaviour 5.6] a settling pod that is deleted is no short-lived one", "[engine]") {
    world w(c10d(3));
    w.start();
    w.wait(seconds{100});
    w.exit("node", 1, 137);
    w.settle();
    w.run_all();
    w.wait(seconds{10});
    w.exit("node", 1, 1);  // ten seconds after its start
    w.settle();
    REQUIRE(w.status().restarts.settling.has_value());
    w.ask_deletion(w.pod("node", 1));
    w.ask_deletion(w.pod("node", 2));  // an old one: it makes the incident free
    w.wait(seconds{15});
    w.settle();
    CHECK(w.status().restarts.disruptions == 1);
    CHECK(w.status().restarts.free_streak == 0);
    CHECK_FALSE(w.status().restarts.last->not_before);
}

TEST_CASE(
    "[api 1.1] an object of another group is no job, whatever its kind is called", "[engine]"
) {
    std::string text = ddp().json();
    REQUIRE(read_job(text));
    const std::string ours = "\"batch.tensorstack.dev/v1beta1\"";
    const auto other = GENERATE(
        as<std::string>{}, "\"batch.tensorstack.dev/v1\"", "\"batch/v1beta1\"", "7", "null"
    );
    text.replace(text.find(ours), ours.size(), other);
    CHECK_FALSE(read_job(text));
}
