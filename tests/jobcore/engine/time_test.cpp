// SPDX-License-Identifier: Apache-2.0
//
// Where the time of a job goes, and how its attempts ended (BEHAVIOUR.md 13.1, 13.2).
#include "engine/booked.hpp"

using namespace signalbox::core;
using signalbox::test::at;
using signalbox::test::booked_seconds;
using signalbox::test::c10d;
using signalbox::test::check_booked;
using signalbox::test::ddp;
using signalbox::test::job_builder;
using signalbox::test::set_pause;
using signalbox::test::start_at_20;
using signalbox::test::world;

TEST_CASE("[behaviour 13.1] [api status.timeSeconds] a plain run", "[engine]") {
    world w(ddp());
    start_at_20(w);
    check_booked(w);
    CHECK(w.status().time.in == time_kind::running);
    CHECK(w.status().time.starting == 20);
    CHECK(w.status().time.since == at(20));
    w.to(at(120));
    w.exit("master", 0, 0);
    w.settle();
    check_booked(w);
    const time_spent& t = w.status().time;
    CHECK(t.running == 100);
    CHECK(t.lost == 0);
    CHECK(t.unsaved == 0);
    CHECK(t.in == time_kind::none);
    CHECK(t.since == w.status().completion_time);
}

TEST_CASE("[behaviour 13.1] an incident takes what ran since the attempt began", "[engine]") {
    world w(ddp());
    start_at_20(w);
    w.to(at(80));
    w.exit("worker", 0, 1);
    SECTION("seen at once") {
        w.settle();
        CHECK(w.status().time.since == at(80));
    }
    SECTION("seen two hours later: it did not run meanwhile") {
        w.to(at(7280));
        w.settle();
        CHECK(w.status().time.since == at(80));
    }
    check_booked(w);
    CHECK(w.status().time.in == time_kind::restarting);
    CHECK(w.status().time.lost == 60);
    CHECK(w.status().time.running == 0);
    const auto seen = w.now();
    w.wait(seconds{40});
    w.run_all();
    w.settle();
    check_booked(w);
    CHECK(w.status().time.in == time_kind::running);
    CHECK(seconds(w.status().time.restarting) == seen + seconds{40} - at(80));
    CHECK(w.status().time.lost == 60);
}

TEST_CASE("[behaviour 13.1] a job that fails loses what it ran", "[engine]") {
    world w(ddp().run_policy("\"backoffLimit\":0"));
    start_at_20(w);
    w.to(at(50));
    w.exit("worker", 0, 1);
    w.to(at(55));
    w.settle();
    check_booked(w);
    CHECK(w.status().phase == job_phase::failed);
    CHECK(w.status().time.lost == 35);
    CHECK(w.status().time.running == 0);
    CHECK(booked_seconds(w) == 55);
}

TEST_CASE("[behaviour 13.1] a decision hours after the pods started", "[engine]") {
    world w(ddp());
    w.settle();
    w.to(at(30));
    w.run_unseen();
    w.to(at(10'000));
    w.settle();
    check_booked(w);
    CHECK(w.status().time.in == time_kind::running);
    CHECK(w.status().time.starting == 30);
    CHECK(w.status().time.since == at(30));
}

TEST_CASE("[behaviour 13.1] paused, queued and resumed", "[engine]") {
    world w(ddp());
    start_at_20(w);
    w.to(at(60));
    set_pause(w, true);
    w.settle();
    check_booked(w);
    CHECK(w.status().time.in == time_kind::paused);
    CHECK(w.status().time.lost == 40);
    w.to(at(160));
    set_pause(w, false);
    w.settle();
    CHECK(w.status().time.in == time_kind::starting);
    CHECK(w.status().time.paused == 100);
    w.to(at(170));
    w.pod("worker", 0).unschedulable = true;
    w.settle();
    CHECK(w.status().time.in == time_kind::queued);
    w.to(at(470));
    w.pod("worker", 0).unschedulable = false;
    w.run_all();
    w.settle();
    check_booked(w);
    CHECK(w.status().time.in == time_kind::running);
    CHECK(w.status().time.queued == 300);
}

TEST_CASE("[behaviour 13.1] a place that is missing after an incident is a queue", "[engine]") {
    world w(ddp());
    start_at_20(w);
    w.to(at(30));
    w.exit("worker", 0, 1);
    w.settle();
    w.wait(seconds{5});
    w.pod("worker", 0).unschedulable = true;
    w.settle();
    CHECK(w.status().reason == "Restarting");
    CHECK(w.status().time.in == time_kind::queued);
    CHECK(w.status().time.restarting == 5);
    check_booked(w);
}

TEST_CASE("[behaviour 13.1] one replica that is replaced alone", "[engine]") {
    world w(c10d());
    start_at_20(w);
    w.to(at(50));
    w.exit("node", 2, 137);
    w.settle();
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.status().time.in == time_kind::restarting);
    CHECK(w.status().time.lost == 30);
    w.to(at(61));
    w.run_all();
    w.settle();
    check_booked(w);
    CHECK(w.status().time.in == time_kind::running);
    CHECK(w.status().time.restarting == 11);
}

TEST_CASE("[behaviour 13.1] one that was replaced and has ended before it was seen", "[engine]") {
    world w(c10d());
    start_at_20(w);
    w.to(at(50));
    w.exit("node", 2, 137);
    w.settle();
    w.to(at(61));
    w.run_unseen();
    w.exit("node", 2, 0);
    w.to(at(100));
    w.settle();
    check_booked(w);
    CHECK(w.status().time.in == time_kind::running);
    CHECK(w.status().time.restarting == 11);
}

TEST_CASE("[behaviour 13.1] time that goes back books nothing twice", "[engine]") {
    world w(ddp());
    start_at_20(w);
    w.to(at(10));
    w.exit("worker", 0, 1);
    w.pod("worker", 0).containers.front().finished = at(10);
    w.settle();
    check_booked(w);
    CHECK(w.status().time.since == at(20));
    CHECK(w.status().time.lost == 0);
    w.to(at(40));
    w.run_all();
    w.settle();
    check_booked(w);
    CHECK(w.status().time.restarting == 20);
}

TEST_CASE("[behaviour 13.1] [behaviour I19] it costs no write of its own", "[engine]") {
    world w(ddp());
    start_at_20(w);
    const int writes = w.status_writes;
    for (int i = 0; i < 20; ++i) {
        w.wait(seconds{1000});
        w.settle();
    }
    CHECK(w.status_writes == writes);
}

TEST_CASE("[behaviour 13.1] [behaviour 4.16] nor does it hasten what may wait", "[engine]") {
    world w(c10d());
    start_at_20(w);
    w.to(at(50));
    w.exit("node", 2, 137);
    w.settle();
    w.to(at(61));
    w.run_unseen();
    const decision d = w.look();
    REQUIRE(d.status);
    CHECK(d.status->time.in != w.status().time.in);
    CHECK(d.defer > milliseconds(0));
}

TEST_CASE("[behaviour 13.1] a status of an older version", "[engine]") {
    world w(ddp());
    start_at_20(w);
    w.status().time = {};
    w.status().attempt_start.reset();
    w.to(at(300));
    w.settle();
    CHECK_FALSE(w.status().time.since);  // at rest nothing is written for it
    w.exit("worker", 0, 1);
    w.settle();
    check_booked(w);
    CHECK(w.status().time.queued == 20);
    CHECK(w.status().time.lost == 280);
    REQUIRE(w.status().attempt_history.size() == 1);
    CHECK_FALSE(w.status().attempt_history[0].start);
}

TEST_CASE("[behaviour 13.1] [api 5.7] a record that does not add up is put right", "[engine]") {
    world w(ddp());
    start_at_20(w);
    w.to(at(100));
    SECTION("too little") {
        w.status().time.starting = 3;
        w.settle();
        CHECK(w.status().time.running == 17);
    }
    SECTION("too much") {
        w.status().time.lost = 1000;
        w.settle();
        CHECK(w.status().time.lost == 0);
        CHECK(w.status().time.running == 20);
    }
    SECTION("in the future") {
        w.status().time.since = at(90'000);
        w.settle();
        CHECK(w.status().time.since == at(100));
    }
    SECTION("before the job") {
        w.status().time.since = at(-1);
        w.settle();
        CHECK(w.status().time.since == at(100));
    }
    SECTION("ended") {
        w.status().time.in = time_kind::none;
        w.settle();
        CHECK(w.status().time.in == time_kind::running);
    }
    SECTION("more unsaved than ran") {
        w.status().time.unsaved = 1;
        w.settle();
        CHECK(w.status().time.unsaved == 0);
    }
    SECTION("what was lost may come back though it runs") {
        w.status().time.recoverable = 1;
        w.settle();
        CHECK(w.status().time.recoverable == 0);
    }
    SECTION("since when is gone") {
        w.status().time.since.reset();
        w.settle();
        CHECK_FALSE(w.status().time.since);
        w.exit("master", 0, 0);
        w.settle();
    }
    check_booked(w);
    CHECK(w.count_events("StatusRepaired") == 1);
}

TEST_CASE(
    "[behaviour 13.2] [api status.attemptHistory] the last ten, with their causes", "[engine]"
) {
    world w(ddp().run_policy("\"backoffLimit\":20"));
    start_at_20(w);
    CHECK(w.status().attempt_history.empty());
    for (int i = 1; i <= 12; ++i) {
        w.to(at(1000 * i));
        w.pod("worker", 1).node = "node-7";
        w.exit("worker", 1, 1, "[rank2]: ValueError: loss is NaN");
        w.settle();
        while (w.pods().size() < 3 && w.wake()) {
        }
        w.run_all();
        w.settle();
    }
    const auto& all = w.status().attempt_history;
    REQUIRE(all.size() == 10);
    for (std::size_t i = 0; i < all.size(); ++i) {
        CHECK(all[i].attempt == static_cast<int>(i) + 3);
    }
    CHECK(all.back().end == at(12'000));
    CHECK(all.back().reason == "PodFailed");
    CHECK(all.back().pod == "mnist-40c14-worker-1");
    CHECK(all.back().node == "node-7");
    CHECK(all.back().rank == 2);
    CHECK(all.back().message.find("loss is NaN") != std::string::npos);
    CHECK(all.back().start == all[8].end);  // the next one begins with the incident
    check_booked(w);
}

TEST_CASE(
    "[behaviour 13.2] an attempt ends with its incident, however late that is seen", "[engine]"
) {
    world w(ddp());
    start_at_20(w);
    w.to(at(50));
    w.exit("worker", 0, 1);
    w.to(at(90));
    w.settle();
    REQUIRE(w.status().attempt_history.size() == 1);
    CHECK(w.status().attempt_history[0].end == at(50));
}

TEST_CASE("[behaviour 13.2] [api status.attemptStartTime] pause, resume, end", "[engine]") {
    world w(ddp());
    w.settle();
    CHECK(w.status().attempt_start == at(0));
    start_at_20(w);
    w.to(at(60));
    set_pause(w, true);
    w.settle();
    REQUIRE(w.status().attempt_history.size() == 1);
    CHECK(w.status().attempt_history[0].reason == "Paused");
    CHECK(w.status().attempt_history[0].start == at(0));
    CHECK_FALSE(w.status().attempt_start);
    w.to(at(70));
    set_pause(w, false);
    w.settle();
    CHECK(w.status().attempt_start == at(70));
    w.run_all();
    w.settle();
    w.to(at(90));
    w.exit("master", 0, 0);
    w.settle();
    REQUIRE(w.status().attempt_history.size() == 2);
    CHECK(w.status().attempt_history[1].reason == "Succeeded");
    CHECK(w.status().attempt_history[1].attempt == 2);
    CHECK(w.status().attempt_history[1].end == w.status().completion_time);
}

TEST_CASE("[behaviour 13.2] a paused job whose deciding pod had ended well", "[engine]") {
    world w(ddp());
    start_at_20(w);
    w.slow_deletes = true;
    w.to(at(60));
    set_pause(w, true);
    w.pass();
    CHECK(w.status().phase == job_phase::paused);
    w.to(at(62));
    w.exit("master", 0, 0);
    w.settle();
    CHECK(w.status().phase == job_phase::succeeded);
    REQUIRE(w.status().attempt_history.size() == 1);
    CHECK(w.status().attempt_history[0].reason == "Succeeded");
    CHECK(w.status().attempt_history[0].start == at(0));
    check_booked(w);
}
