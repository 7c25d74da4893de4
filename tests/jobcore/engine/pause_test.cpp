// SPDX-License-Identifier: Apache-2.0
//
// Pause and resume (BEHAVIOUR.md 6).
#include "engine/facts/inputs.hpp"
#include "engine/jobs.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::core;
using signalbox::test::at;
using signalbox::test::c10d;
using signalbox::test::ddp;
using signalbox::test::job_builder;
using signalbox::test::world;

namespace {

job_builder resumable() {
    return ddp().resume(R"({"type":"worker","args":["--resume"]})");
}

/// The first worker's pod of the present attempt.
std::string worker_json(const world& w) {
    const pod_identity worker{1, 0, w.status().attempt, 0, 0};
    return render_pod(w.plan(), worker, engine::render_options_of(w.status(), w.plan()));
}

bool runs_resume(const world& w) {
    return worker_json(w).find("--resume") != std::string::npos;
}

}  // namespace

TEST_CASE("[behaviour 6.1] pause is on record first, then every pod goes", "[engine]") {
    world w(ddp().run_policy("\"cleanUpPolicy\":\"None\",\"activeDeadlineSeconds\":100"));
    w.start();
    w.wait(seconds{10});
    set_pause(w, true);
    const auto d = w.look();
    REQUIRE(d.status);
    CHECK(d.status->phase == job_phase::paused);
    CHECK(d.stages.empty());
    w.settle();
    CHECK(w.pods().empty());
    CHECK(w.children().size() == 2);
    CHECK_FALSE(w.status().start_time);
    CHECK_FALSE(w.status().next_transition);
    CHECK(w.condition("Paused") == "True/Paused");
    CHECK(w.status().aggregate->deleted == 3);
    CHECK(w.count_events("Paused") == 1);
    w.wait(seconds{1000});
    w.settle();
    CHECK(w.status().phase == job_phase::paused);
}

TEST_CASE("[behaviour 6.4] resume raises the attempt and waits for older pods", "[engine]") {
    world w(ddp());
    w.start();
    w.slow_deletes = true;
    set_pause(w, true);
    w.settle();
    set_pause(w, false);
    w.settle();
    CHECK(w.status().phase == job_phase::resuming);
    CHECK(w.status().attempt == 2);
    CHECK(w.pods().size() == 3);
    w.wait(seconds{20});
    w.finish_deletions();
    CHECK(w.pods().size() == 3);
    CHECK(w.status().start_time == at(20));
    w.run_all();
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.condition("Paused") == "False/Resuming");
    CHECK(w.status().backoff_count == 0);
    CHECK(w.count_events("Resumed") == 1);
}

TEST_CASE("[behaviour 6.3] created paused: no child, no start, all creating", "[engine]") {
    world w(ddp().pause());
    w.settle();
    CHECK(w.status().phase == job_phase::paused);
    CHECK(w.status().attempt == 0);
    CHECK(w.pods().empty());
    CHECK(w.children().empty());
    CHECK(w.status().aggregate->creating == 3);
    set_pause(w, false);
    w.start();
    CHECK(w.status().attempt == 1);
    CHECK(w.status().phase == job_phase::running);
}

TEST_CASE("[behaviour 6.2] a replica count edited while paused acts with the resume", "[engine]") {
    world w(ddp());
    w.start();
    set_pause(w, true);
    w.settle();
    w.edit() = ddp(4).pause();
    w.reload();
    w.settle();
    CHECK(w.status().tasks[1].wanted == 2);
    set_pause(w, false);
    w.start();
    CHECK(w.status().tasks[1].wanted == 4);
    CHECK(w.pods().size() == 5);
}

TEST_CASE("[behaviour 6.2] exits while paused are no incidents", "[engine]") {
    world w(ddp());
    w.start();
    w.slow_deletes = true;
    set_pause(w, true);
    w.settle();
    w.wait(seconds{1});
    w.exit("worker", 0, 143);
    w.exit("master", 0, 143);
    w.settle();
    CHECK(w.status().phase == job_phase::paused);
    CHECK(w.status().backoff_count == 0);
    CHECK(w.status().restarts.disruptions == 0);
}

TEST_CASE("[behaviour 6.2] nothing completes while the job is paused", "[engine]") {
    world w(ddp());
    w.start();
    w.slow_deletes = true;
    set_pause(w, true);
    w.pass();
    REQUIRE(w.status().phase == job_phase::paused);
    w.exit("worker", 0, 0);
    w.settle();
    CHECK(w.status().restarts.completed.empty());
    w.finish_deletions();
    CHECK(w.status().aggregate->deleted == 3);
    CHECK(w.status().ready == "0/3");
}

TEST_CASE("[behaviour 4.3] the master's earlier success stands under pause", "[engine]") {
    world w(ddp());
    w.start();
    w.wait(seconds{5});
    w.exit("master", 0, 0);
    w.wait(seconds{1});
    set_pause(w, true);
    w.settle();
    CHECK(w.status().phase == job_phase::succeeded);
}

TEST_CASE(
    "[behaviour 6.2] a failed master that may be restarted stays; resume is free", "[engine]"
) {
    world w(ddp());
    w.start();
    w.wait(seconds{5});
    w.exit("master", 0, 1);
    w.wait(seconds{1});
    set_pause(w, true);
    w.settle();
    CHECK(w.status().phase == job_phase::paused);
    set_pause(w, false);
    w.start();
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.status().backoff_count == 0);
}

TEST_CASE("[behaviour 4.3] a failed master that may not be restarted ends the job", "[engine]") {
    world w(ddp().run_policy("\"backoffLimit\":0"));
    w.start();
    w.wait(seconds{5});
    w.exit("master", 0, 1);
    w.wait(seconds{1});
    set_pause(w, true);
    w.settle();
    CHECK(w.status().phase == job_phase::failed);
}

TEST_CASE("[behaviour 6.2] what does not end a job at its pause never does", "[engine]") {
    const bool torch = GENERATE(false, true);
    const std::string peer = torch ? "node" : "worker";
    world w(torch ? c10d() : ddp().run_policy("\"backoffLimit\":0"));
    w.start();
    w.wait(seconds{5});
    w.slow_deletes = true;
    if (torch) {
        // The failed peer outranks the success, and has the job restarted.
        w.exit("node", 1, 1);
        w.exit("node", 0, 0);
    } else {
        // A pod that vanished makes the failure free.
        w.vanish("worker", 0);
        w.exit("master", 0, 1);
    }
    set_pause(w, true);
    w.settle();
    REQUIRE(w.status().phase == job_phase::paused);
    CHECK(w.status().attempt == 2);
    CHECK(w.status().backoff_count == 0);
    w.vanish(peer, 1);
    w.settle();
    CHECK(w.status().phase == job_phase::paused);
    w.finish_deletions();
    w.settle();
    CHECK(w.pods().empty());
    set_pause(w, false);
    w.slow_deletes = false;
    w.start();
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.status().attempt == 3);
    CHECK(w.status().restarts.disruptions == 0);
}

TEST_CASE("[behaviour 6.1] pause clears a pending delay", "[engine]") {
    world w(ddp());
    w.start();
    w.wait(seconds{1});
    w.ask_deletion(w.pod("worker", 0), 0);
    w.settle();
    w.finish_deletions();
    REQUIRE(w.status().restarts.last->not_before);
    set_pause(w, true);
    w.settle();
    CHECK_FALSE(w.status().restarts.last->not_before);
    set_pause(w, false);
    w.settle();
    CHECK(w.pods().size() == 3);
}

TEST_CASE("[behaviour 6.1] the record of a pause ends what settles", "[engine]") {
    world w(c10d());
    w.start();
    w.exit("node", 1, 1);
    w.settle();
    REQUIRE(w.status().restarts.settling);
    set_pause(w, true);
    w.pass();
    REQUIRE(w.status().phase == job_phase::paused);
    CHECK_FALSE(w.status().restarts.settling);
    w.settle();
    CHECK_FALSE(w.has_event("StatusRepaired"));
}

TEST_CASE("[behaviour 6.4] toggled quickly: the final wish wins, no pod is left over", "[engine]") {
    world w(ddp());
    w.start();
    w.slow_deletes = true;
    for (int i = 0; i < 5; ++i) {
        set_pause(w, i % 2 == 0);
        w.pass();
    }
    set_pause(w, false);
    w.settle();
    w.finish_deletions();
    w.run_all();
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.pods().size() == 3);
    CHECK(w.live_pods() == 3);
}

TEST_CASE("[behaviour 6.5] pause wins over a deadline that is not on record", "[engine]") {
    world w(ddp().run_policy("\"activeDeadlineSeconds\":5"));
    w.start();
    w.wait(seconds{6});
    set_pause(w, true);
    w.settle();
    CHECK(w.status().phase == job_phase::paused);
}

TEST_CASE(
    "[behaviour 3.11] attempts after a pause are rendered with the resume specs", "[engine]"
) {
    world w(resumable());
    w.start();
    CHECK_FALSE(runs_resume(w));
    CHECK(w.status().training == training_state::started);
    set_pause(w, true);
    w.settle();
    set_pause(w, false);
    w.settle();
    CHECK(runs_resume(w));
    CHECK(worker_json(w).find("\"batch.tensorstack.dev/attempt\":\"2\"") != std::string::npos);
    // Of an attempt that a failure makes too.
    w.run_all();
    w.exit("master", 0, 1);
    w.settle();
    CHECK(w.status().attempt == 3);
    CHECK(runs_resume(w));
}

TEST_CASE(
    "[behaviour 3.11] [api status.training] a job that was created paused begins with its command",
    "[engine]"
) {
    world w(resumable().pause());
    w.settle();
    CHECK(w.status().training == training_state::unknown);
    set_pause(w, false);
    w.settle();
    CHECK(w.condition("Paused") == "False/Resuming");
    CHECK(w.status().training == training_state::not_started);
    CHECK_FALSE(runs_resume(w));
    SECTION("also in the attempt after a failure") {
        w.run_all();
        w.exit("master", 0, 1);
        w.settle();
        CHECK(w.status().attempt == 2);
        CHECK_FALSE(runs_resume(w));
    }
    SECTION("and again if it is paused before it trains") {
        w.run(w.pod("worker", 0));  // the deciding pod has not started
        w.settle();
        set_pause(w, true);
        w.settle();
        set_pause(w, false);
        w.settle();
        CHECK_FALSE(runs_resume(w));
    }
    SECTION("but not when it has trained") {
        w.run_all();
        set_pause(w, true);
        w.settle();
        set_pause(w, false);
        w.settle();
        CHECK(runs_resume(w));
    }
}

TEST_CASE("[behaviour 3.11] what ran and ended before the pause was seen has trained", "[engine]") {
    world w(resumable());
    w.settle();
    w.slow_deletes = true;
    set_pause(w, true);
    w.settle();
    REQUIRE(w.status().training == training_state::not_started);
    w.exit("master", 0, 143);
    w.pod("master", 0).containers[0].finished = w.now();
    w.settle();
    CHECK(w.status().training == training_state::started);
}

TEST_CASE("[behaviour 3.11] a status of version 0.1 keeps its resume specs", "[engine]") {
    world w(resumable());
    w.start();
    w.status().training = training_state::unknown;
    w.settle();
    CHECK(w.status().training == training_state::unknown);  // no write for its own sake
    CHECK_FALSE(runs_resume(w));
    SECTION("that was never paused") {
        set_pause(w, true);
        w.settle();
        set_pause(w, false);
        w.settle();
        CHECK(runs_resume(w));
        CHECK(w.status().training == training_state::resumed);
    }
    SECTION("that was resumed") {
        w.status().conditions.push_back({"Paused", false, "Resuming", "", at(0)});
        CHECK(runs_resume(w));
        w.exit("master", 0, 1);
        w.settle();
        CHECK(runs_resume(w));
    }
}
