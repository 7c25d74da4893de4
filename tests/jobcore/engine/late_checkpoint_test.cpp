// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints that are written after SIGTERM: what they hold was not lost
// (BEHAVIOUR.md 13.1, 5.15).
#include "engine/booked.hpp"

#include <optional>

using namespace signalbox::core;
using signalbox::test::at;
using signalbox::test::c10d;
using signalbox::test::check_booked;
using signalbox::test::ddp;
using signalbox::test::job_builder;
using signalbox::test::set_pause;
using signalbox::test::start_at_20;
using signalbox::test::world;

namespace {

progress_message checkpoint_of(std::int32_t attempt, std::int64_t step) {
    progress_message out;
    out.attempt = attempt;
    out.checkpoint_step = step;
    out.checkpoint_seconds = 4;
    return out;
}

void say(world& w, const progress_message& said) {
    w.report(said);
    w.settle();
}

/// Runs from 20 on, and somebody takes a pod at 120; the pods have their grace.
struct taken_at_120 : world {
    explicit taken_at_120(const job_builder& job = ddp()) : world(job) {
        reported_since = now();
        start_at_20(*this);
        to(at(70));
        progress_message said = checkpoint_of(1, 50);
        said.current_step = 50;
        say(*this, said);
        slow_deletes = true;
        to(at(120));
        ask_deletion(pods().back());
        settle();
    }
    const time_spent& time() const { return status().time; }
    void go_on() {
        finish_deletions();
        while (pods().size() < 3 && wake()) {
        }
        run_all();
        settle();
    }
};

}  // namespace

TEST_CASE(
    "[behaviour 13.1] [behaviour 5.15] a checkpoint that is written after SIGTERM counts",
    "[engine]"
) {
    taken_at_120 w;
    REQUIRE(w.status().attempt == 2);
    CHECK(w.time().running == 50);
    CHECK(w.time().lost == 50);
    CHECK(w.time().recoverable == 50);
    check_booked(w);
    w.to(at(125));
    say(w, checkpoint_of(1, 100));
    CHECK(w.time().running == 100);
    CHECK(w.time().lost == 0);
    CHECK(w.time().recoverable == 0);
    check_booked(w);
    REQUIRE(w.status().progress);
    CHECK(w.status().progress->checkpoint_step == 100);
    CHECK(w.status().progress->checkpoint_time == at(125));
    CHECK(w.status().progress->checkpoint_seconds == 4);
    CHECK(w.status().progress->current_step == 50);
    CHECK(w.status().progress->attempt == 1);
    w.to(at(150));
    w.go_on();
    CHECK(w.time().in == time_kind::running);
    CHECK(w.time().lost == 0);
    check_booked(w);
    // Of its own work nothing is saved yet.
    const instant since = *w.time().since;
    w.to(since + seconds{40});
    w.exit("worker", 0, 1);
    w.settle();
    CHECK(w.time().lost == 40);
    check_booked(w);
}

TEST_CASE("[behaviour 13.1] what saves nothing of an attempt that is over", "[engine]") {
    taken_at_120 w;
    w.to(at(125));
    SECTION("it says nothing of a checkpoint") {
        progress_message said;
        said.attempt = 1;
        said.current_step = 99;
        say(w, said);
        CHECK(w.status().progress->current_step == 50);
    }
    SECTION("that checkpoint is on record: another process hears of it once more") {
        w.reported = {};
        say(w, checkpoint_of(1, 50));
        CHECK(w.status().progress->checkpoint_step == 50);
    }
    SECTION("it runs again") {
        w.go_on();
        REQUIRE(w.time().in == time_kind::running);
        CHECK(w.time().recoverable == 0);
        say(w, checkpoint_of(1, 100));
        CHECK(w.status().progress->checkpoint_step == 50);
    }
    SECTION("another attempt has begun, and lost nothing") {
        w.finish_deletions();
        while (w.pods().size() < 3 && w.wake()) {
        }
        w.exit("worker", 0, 1);
        w.settle();
        REQUIRE(w.status().attempt == 3);
        REQUIRE(w.time().recoverable == 50);
        say(w, checkpoint_of(1, 100));
    }
    CHECK(w.time().lost == 50);
    CHECK(w.time().running == 50);
    check_booked(w);
}

TEST_CASE("[behaviour 13.1] a checkpoint from before the work holds nothing of it", "[engine]") {
    world w(c10d());
    w.reported_since = w.now();
    start_at_20(w);
    w.exit("node", 0, 1);  // the store is there: all begin anew, and nothing has run yet
    w.wait(seconds{30});
    w.settle();
    REQUIRE(w.status().attempt == 2);
    REQUIRE(w.status().time.recoverable == 0);
    say(w, checkpoint_of(1, 5));
    while (w.pods().size() < 3 && w.wake()) {
    }
    w.run_all();
    w.settle();
    const instant since = *w.status().time.since;
    w.to(since + seconds{100});
    w.exit("node", 2, 137);
    w.settle();
    CHECK(w.status().attempt == 2);
    CHECK(w.status().time.lost == 100);
    CHECK(w.status().time.recoverable == 100);
    check_booked(w);
}

TEST_CASE("[behaviour 13.1] [behaviour 6.1] a checkpoint that a pause asks for", "[engine]") {
    world w(ddp());
    w.reported_since = w.now();
    start_at_20(w);
    w.slow_deletes = true;
    w.to(at(60));
    set_pause(w, true);
    w.settle();
    REQUIRE(w.status().phase == job_phase::paused);
    CHECK(w.status().time.lost == 40);
    w.to(at(63));
    say(w, checkpoint_of(1, 40));  // the only word of this attempt
    CHECK(w.status().time.lost == 0);
    CHECK(w.status().time.running == 40);
    check_booked(w);
    REQUIRE(w.status().progress);
    CHECK(w.status().progress->attempt == 1);
    CHECK(w.status().progress->checkpoint_step == 40);
    CHECK_FALSE(w.status().progress->current_step);
}

TEST_CASE(
    "[behaviour 13.1] a pause behind an incident leaves time to the pods of both", "[engine]"
) {
    taken_at_120 w;
    set_pause(w, true);
    w.settle();
    REQUIRE(w.status().phase == job_phase::paused);
    CHECK(w.time().recoverable == 50);
    say(w, checkpoint_of(1, 100));
    CHECK(w.time().lost == 0);
    check_booked(w);
}

TEST_CASE("[behaviour 13.1] a checkpoint while one replica is replaced", "[engine]") {
    world w(c10d());
    w.reported_since = w.now();
    start_at_20(w);
    w.slow_deletes = true;
    w.to(at(50));
    w.ask_deletion(w.pod("node", 2));
    w.settle();
    REQUIRE(w.status().attempt == 1);
    REQUIRE(w.status().time.in == time_kind::restarting);
    CHECK(w.status().time.lost == 30);
    w.to(at(55));
    say(w, checkpoint_of(1, 30));
    CHECK(w.status().time.lost == 0);
    CHECK(w.status().time.running == 30);
    check_booked(w);
}

TEST_CASE("[behaviour 13.1] [behaviour 13.8] a checkpoint of a job that stood still", "[engine]") {
    world w(ddp().run_policy(
        R"("backoffLimit":3,"progress":{"stallAfterSeconds":600,"stallAction":"Restart"})"
    ));
    w.reported_since = w.now();
    start_at_20(w);
    w.slow_deletes = true;
    progress_message said;
    said.current_step = 10;
    say(w, said);
    w.to(at(620));
    w.settle();
    REQUIRE(w.status().attempt == 2);
    const std::int64_t lost = w.status().time.lost;
    CHECK(lost > 0);
    w.to(at(625));
    say(w, checkpoint_of(1, 10));
    CHECK(w.status().time.lost == 0);
    CHECK(w.status().time.running == lost);
    check_booked(w);
}

TEST_CASE("[behaviour 13.1] an elastic job that runs on, and one that has ended, wait for nothing"
) {
    SECTION("it runs on") {
        world w(c10d(3).elastic(1, 4, 3));
        start_at_20(w);
        w.slow_deletes = true;
        w.to(at(50));
        w.ask_deletion(w.pod("node", 2));
        w.settle();
        REQUIRE(w.status().time.in == time_kind::running);
        CHECK(w.status().time.lost == 30);
        CHECK(w.status().time.recoverable == 0);
        check_booked(w);
    }
    SECTION("it ends") {
        taken_at_120 w(ddp().run_policy("\"activeDeadlineSeconds\":130"));
        REQUIRE(w.time().recoverable == 50);
        w.to(at(200));
        w.settle();
        REQUIRE(w.status().phase == job_phase::failed);
        CHECK(w.time().recoverable == 0);
        say(w, checkpoint_of(1, 100));
        CHECK(w.time().lost == 50);
        check_booked(w);
    }
}
