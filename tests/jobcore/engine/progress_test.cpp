// SPDX-License-Identifier: Apache-2.0
//
// Progress, stalls, restarts that bring a job no further (BEHAVIOUR.md 13.7-13.9).
#include "engine/jobs.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

namespace core = signalbox::core;
using namespace signalbox::core;
using signalbox::test::at;
using signalbox::test::c10d;
using signalbox::test::colossalai;
using signalbox::test::ddp;
using signalbox::test::job_builder;
using signalbox::test::set_pause;
using signalbox::test::world;

namespace {

progress_message at_step(std::int64_t n, std::int32_t rank = 0) {
    progress_message out;
    out.rank = rank;
    out.current_step = n;
    out.total_steps = 5000;
    return out;
}

job_builder watched_job(const std::string& more = {}, const std::string& restart = "OnFailure") {
    return ddp(2, restart)
        .run_policy(
            R"("backoffLimit":3,"progress":{"stallAfterSeconds":600,"stallAction":"Restart"})" +
            more
        );
}

void say_step(world& w, progress_message said) {
    w.report(std::move(said));
    w.settle();
}

void run_after_stall(world& w) {
    w.settle();
    while (w.pods().size() < 3 && w.wake()) {
    }
    w.run_all();
    w.settle();
}

const progress_status& progress_of(const world& w) {
    REQUIRE(w.status().progress);
    return *w.status().progress;
}

}  // namespace

TEST_CASE("[behaviour 13.7] [api status.progress] reports come into the status", "[engine]") {
    world w(ddp());
    start_heard(w);
    w.wait(seconds{60});
    progress_message said = at_step(1200);
    said.remaining_seconds = 9000;
    said.metrics = {{"loss", "2.31"}, {"bad\nname", "1\x1b[2J"}};
    say_step(w, said);
    CHECK(progress_of(w).current_step == 1200);
    CHECK(progress_of(w).total_steps == 5000);
    CHECK(progress_of(w).percentage == 24);
    CHECK(progress_of(w).remaining_seconds == 9000);
    CHECK(progress_of(w).attempt == 1);
    CHECK(progress_of(w).last_updated == w.now());
    CHECK(progress_of(w).metrics[0] == progress_metric{"loss", "2.31"});
    CHECK(progress_of(w).metrics[1].name.find('\n') == std::string::npos);
    CHECK(progress_of(w).metrics[1].value.find('\x1b') == std::string::npos);
}

TEST_CASE("[behaviour 13.7] one write in 15 s, the first and the last at once", "[engine]") {
    world w(ddp());
    start_heard(w);
    w.wait(seconds{60});
    w.report(at_step(1));
    CHECK(w.look().defer == milliseconds(0));
    w.settle();
    w.wait(seconds{1});
    w.report(at_step(2));
    const decision d = w.look();
    REQUIRE(d.status);
    CHECK(d.defer == seconds{15});
    CHECK(d.stages.empty());
    progress_message end;
    end.percentage = 100;
    w.report(end);
    CHECK(w.look().status);
    CHECK(w.look().defer == milliseconds(0));
}

TEST_CASE("[behaviour 13.7] the course of a training in few points", "[engine]") {
    world w(ddp());
    start_heard(w);
    const auto course = [&] { return progress_of(w).course; };
    const auto say = [&](std::int64_t step, seconds later) {
        w.wait(later);
        progress_message said = at_step(step);
        said.metrics = {{"grad_norm", "0.8"}, {"loss", std::to_string(step) + ".5"}};
        say_step(w, said);
    };
    say(1, seconds{60});
    const instant first = w.now();
    REQUIRE(course() == std::vector<progress_point>{{first, 1, "1.5"}});
    say(2, seconds{14});
    CHECK(course().size() == 1);
    say(3, seconds{1});
    REQUIRE(course().size() == 2);
    CHECK(course()[1] == progress_point{first + seconds{15}, 3, "3.5"});
    say(3, seconds{60});
    CHECK(course().size() == 2);

    for (int i = 0; i < 2000; ++i) {
        say(4 + i, seconds{20});
        REQUIRE(course().size() <= 32);
    }
    CHECK(course().size() >= 16);
    CHECK(course()[0] == progress_point{first, 1, "1.5"});
    const instant last = *course().back().time;
    CHECK(w.now() - last <= (last - first) / 16);
    for (std::size_t i = 1; i < course().size(); ++i) {
        const auto apart = *course()[i].time - *course()[i - 1].time;
        CHECK(apart > seconds{0});
        CHECK(apart < (last - first) / 6);
    }

    // The next attempt goes on with it, behind where the last one ended.
    say(3000, seconds{1});
    CHECK(course().back().step < 3000);
    const instant ended = w.now();
    w.exit("worker", 0, 1);
    run_after_stall(w);
    say(7, seconds{1});
    CHECK(course().back() == progress_point{ended, 3000, "3000.5"});
    say(8, seconds{20'000});
    CHECK(course().back() == progress_point{w.now(), 8, "8.5"});
    CHECK(course()[0].step == 1);

    // Points that cannot be are none.
    w.status().progress->course.back().time = w.now() + seconds{1'000'000};
    say(9, seconds{20'000});
    CHECK(course().back() == progress_point{w.now(), 9, "9.5"});
}

TEST_CASE("[behaviour 13.7] older attempts are nothing, and 0 is no step back", "[engine]") {
    world w(ddp());
    start_heard(w);
    say_step(w, at_step(1200));
    w.exit("worker", 0, 1);
    run_after_stall(w);
    CHECK(progress_of(w).attempt == 1);
    CHECK(progress_of(w).current_step == 1200);
    progress_message late = at_step(1300);
    late.attempt = 1;
    w.report(late);  // the record is still of that attempt
    w.settle();
    CHECK(progress_of(w).current_step == 1200);
    say_step(w, at_step(0));
    CHECK(progress_of(w).attempt == 2);
    CHECK(progress_of(w).current_step == 1200);
    w.wait(seconds{30});
    say_step(w, at_step(0));
    CHECK(progress_of(w).current_step == 1200);
    say_step(w, at_step(1180));
    CHECK(progress_of(w).current_step == 1180);
    REQUIRE(w.status().attempt_history.size() == 1);
    CHECK(w.status().attempt_history[0].step == 1200);
    // Who takes over from another process gets the same step again.
    const auto advanced = progress_of(w).advanced;
    w.reported = {};
    w.wait(seconds{100});
    say_step(w, at_step(1180));
    CHECK(progress_of(w).advanced == advanced);
    CHECK(progress_of(w).last_updated == w.now());
}

TEST_CASE("[behaviour 13.7] nothing of a paused or ended job", "[engine]") {
    world w(ddp());
    start_heard(w);
    say_step(w, at_step(10));
    set_pause(w, true);
    w.settle();
    const int writes = w.status_writes;
    w.wait(seconds{100});
    say_step(w, at_step(20));
    CHECK(w.status_writes == writes);
    CHECK(progress_of(w).current_step == 10);
}

TEST_CASE("[behaviour 13.7] a checkpoint bounds what is lost", "[engine]") {
    world w(ddp());
    start_heard(w);
    const instant since = *w.status().time.since;
    w.to(since + seconds{400});
    progress_message said = at_step(400);
    said.checkpoint_step = 400;
    say_step(w, said);
    w.to(since + seconds{500});
    w.exit("worker", 0, 1);
    w.settle();
    CHECK(w.status().time.running == 400);
    CHECK(w.status().time.lost == 100);
}

TEST_CASE("[behaviour 13.1] a checkpoint that is written while the steps stand still", "[engine]") {
    world w(ddp().run_policy(R"("progress":{"stallAfterSeconds":600})"));
    start_heard(w);
    const instant since = *w.status().time.since;
    w.to(since + seconds{400});
    say_step(w, at_step(400));
    w.to(since + seconds{1000});
    w.settle();
    REQUIRE(w.status().time.in == time_kind::stalled);
    CHECK(w.status().time.unsaved == 400);
    w.to(since + seconds{1100});
    progress_message said = at_step(400);
    said.checkpoint_step = 400;
    say_step(w, said);
    w.to(since + seconds{1200});
    say_step(w, at_step(401));
    REQUIRE(w.status().time.in == time_kind::running);
    w.to(since + seconds{1250});
    w.exit("worker", 0, 1);
    w.settle();
    CHECK(w.status().time.lost == 50);
    CHECK(w.status().time.running == 400);
    CHECK(w.status().time.stalled == 800);
}

TEST_CASE("[behaviour 13.7] the rank that stands still first", "[engine]") {
    world w(watched_job());
    start_heard(w);
    for (int i = 0; i < 4; ++i) {
        w.report(at_step(100, i));
    }
    w.wait(seconds{10});
    for (const int rank : {0, 1, 3}) {
        w.report(at_step(101, rank));
    }
    w.settle();
    REQUIRE(progress_of(w).slowest);
    CHECK(progress_of(w).slowest->rank == 2);
    CHECK(progress_of(w).slowest->step == 100);
    CHECK(progress_of(w).slowest->behind == 1);
    w.wait(seconds{600});
    w.pass();
    REQUIRE(w.status().restarts.last);
    CHECK(
        w.status().restarts.last->message.find("rank 2 stood still first, at step 100") !=
        std::string::npos
    );
}

TEST_CASE(
    "[behaviour 13.8] [api runPolicy.progress] a stall is told, and over when progress comes",
    "[engine]"
) {
    world w(ddp().run_policy(R"("progress":{"stallAfterSeconds":600})"));
    start_heard(w);
    say_step(w, at_step(1200));
    const instant last = w.now();
    REQUIRE(w.last().wake_up);
    w.to(last + seconds{599});
    w.settle();
    CHECK(w.condition("Stalled").empty());
    CHECK(w.look().wake_up == last + seconds{600});
    w.to(last + seconds{600});
    w.settle();
    CHECK(w.condition("Stalled") == "True/NoProgress");
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.status().reason == "Stalled");
    CHECK(w.status().time.in == time_kind::stalled);
    CHECK(w.status().time.since == last);
    const condition* c = find_condition(w.status(), "Stalled");
    CHECK(c->message == "no progress for 600 s: step 1200 of 5000");
    CHECK(w.count_events("Stalled") == 1);
    const int writes = w.status_writes;
    w.wait(seconds{5000});
    w.settle();
    SECTION("nothing is written while it lasts") {
        CHECK(w.status_writes == writes);
    }
    SECTION("another process takes over and hears the same step") {
        w.reported = {};
        w.reported_since = w.now();
        w.settle();
        CHECK(w.condition("Stalled") == "True/NoProgress");
        say_step(w, at_step(1200));
        CHECK(w.condition("Stalled") == "True/NoProgress");
    }
    SECTION("no one listens any more") {
        w.reported = {};
        w.reported_since.reset();
        w.settle();
        CHECK(w.condition("Stalled") == "True/NoProgress");
    }
    SECTION("it ends") {
        w.exit("master", 0, 0);
        w.settle();
        CHECK(w.condition("Stalled") == "False/Succeeded");
        return;
    }
    CHECK(w.count_events("Stalled") == 1);
    CHECK(w.status().restarts.last == std::nullopt);
    const instant again = w.now();
    say_step(w, at_step(1201));
    CHECK(w.condition("Stalled") == "False/Progressing");
    CHECK(w.status().reason.empty());
    CHECK(w.status().time.in == time_kind::running);
    CHECK(seconds(w.status().time.stalled) == again - last);
}

TEST_CASE(
    "[behaviour 13.8] by default a stall of half an hour is told, if anybody reports", "[engine]"
) {
    world w(ddp());
    start_heard(w);
    w.wait(seconds{100'000});
    w.settle();
    CHECK(w.condition("Stalled").empty());
    say_step(w, at_step(1));
    w.wait(seconds{1799});
    w.settle();
    CHECK(w.condition("Stalled").empty());
    w.wait(seconds{1});
    w.settle();
    CHECK(w.condition("Stalled") == "True/NoProgress");
    CHECK_FALSE(w.status().restarts.last);
}

TEST_CASE("[behaviour 13.8] debug mode has no standstill", "[engine]") {
    world w(watched_job().debug());
    start_heard(w);
    say_step(w, at_step(10));
    w.wait(seconds{700});
    w.settle();
    CHECK(w.condition("Stalled").empty());
    CHECK_FALSE(w.status().restarts.last);
}

TEST_CASE("[behaviour 13.8] what is no standstill", "[engine]") {
    struct row {
        const char* what;
        void (*happens)(world& w);
    };
    const auto row_of_table = GENERATE(
        row{"no one listens", [](world& w) { w.reported_since.reset(); }},
        row{"somebody listens again, for not long enough",
            [](world& w) {
                w.reported_since = w.now() + seconds{1};
                w.wait(seconds{600});
            }},
        row{"the pods are not all there",
            [](world& w) {
                w.exit("worker", 0, 1);
                w.settle();
            }},
        row{"it is paused",
            [](world& w) {
                set_pause(w, true);
                w.settle();
            }},
        row{"the specification is invalid",
            [](world& w) {
                w.edit().elastic(5, 2);
                w.reload();
            }}
    );
    INFO(row_of_table.what);
    world w(watched_job());
    start_heard(w);
    say_step(w, at_step(10));
    row_of_table.happens(w);
    if (w.reported_since && *w.reported_since <= w.now() - seconds{590}) {
        CHECK(w.look().status == std::nullopt);
        return;
    }
    const auto incidents = w.status().backoff_count;
    w.wait(seconds{700});
    CHECK_FALSE(w.look().wake_up);
    w.settle();
    CHECK((w.condition("Stalled").empty() || w.condition("Stalled").starts_with("False")));
    CHECK(w.status().backoff_count == incidents);
}

TEST_CASE(
    "[behaviour 13.8] the clock begins when the attempt runs as a whole on record", "[engine]"
) {
    world w(c10d(3).run_policy(R"("progress":{"stallAfterSeconds":600})"));
    start_heard(w);
    say_step(w, at_step(10));
    w.wait(seconds{10});
    w.exit("node", 2, 137);
    w.settle();
    w.wait(seconds{50});
    w.run_unseen();
    w.wait(seconds{580});  // 640 s after the step, 580 s after the last start
    w.settle();
    CHECK(w.condition("Stalled").empty());
    w.wait(seconds{20});
    w.settle();
    CHECK(w.condition("Stalled") == "True/NoProgress");
}

TEST_CASE("[behaviour 13.8] no one has reported", "[engine]") {
    world w(ddp().run_policy(R"("progress":{"firstReportAfterSeconds":300,"stallAction":"Restart"})"
    ));
    start_heard(w);
    const instant since = *w.status().time.since;
    w.to(since + seconds{299});
    w.settle();
    CHECK_FALSE(w.status().restarts.last);
    w.to(since + seconds{300});
    w.pass();
    REQUIRE(w.status().restarts.last);
    CHECK(w.status().restarts.last->cause == "Stalled");
    CHECK(w.status().restarts.last->message == "no process has reported within 300 s");
}

TEST_CASE("[behaviour 13.8] Restart makes one incident of it", "[engine]") {
    const std::string policy = GENERATE("OnFailure", "Never");
    world w(watched_job({}, policy));
    start_heard(w);
    say_step(w, at_step(10));
    const instant last = w.now();
    w.to(last + seconds{600});
    SECTION("it stands still") {
        w.pass();
        CHECK(w.status().backoff_count == 1);
        CHECK(w.status().attempt == 2);
        REQUIRE(w.status().restarts.last);
        CHECK(w.status().restarts.last->cause == "Stalled");
        CHECK(w.status().restarts.last->counted);
        CHECK(w.status().restarts.last->scope == restart_scope::job);
        CHECK(w.status().restarts.last->pods.empty());
        CHECK(w.count_events("Stalled") == 1);
        CHECK(w.status().attempt_history.back().reason == "Stalled");
        CHECK(w.status().time.stalled + w.status().time.running + w.status().time.lost >= 600);
        CHECK(w.status().time.in == time_kind::restarting);
        // Its pods are killed, and exit with an error: nothing more comes of it.
        for (pod_record& pod : w.pods()) {
            w.exit(pod, 1);
        }
        run_after_stall(w);
        CHECK(w.status().phase == job_phase::running);
        CHECK(w.status().backoff_count == 1);
        CHECK(w.status().restarts.disruptions == 0);
        CHECK(w.condition("Stalled").substr(0, 4) != "True");
    }
    SECTION("a pod fails in the same moment") {
        w.exit("worker", 1, 1);
        w.settle();
        if (policy == "Never") {
            CHECK(w.status().reason == "ErrorInPod");
            return;
        }
        CHECK(w.status().backoff_count == 1);
        CHECK(w.status().restarts.last->cause == "PodFailed");
        run_after_stall(w);
        CHECK(w.status().backoff_count == 1);
    }
}

TEST_CASE("[behaviour 13.8] [behaviour I7] stalls have the budget of all incidents", "[engine]") {
    world w(ddp().run_policy(
        R"("backoffLimit":2,"progress":{"stallAfterSeconds":600,"stallAction":"Restart"})"
    ));
    start_heard(w);
    for (int i = 0; i < 3; ++i) {
        w.wait(seconds{1});
        say_step(w, at_step(10 + i));
        w.wait(seconds{600});
        run_after_stall(w);
    }
    CHECK(w.status().phase == job_phase::failed);
    CHECK(w.status().reason == "BackoffLimitExceeded");
    CHECK(w.status().backoff_count == 2);
}

TEST_CASE("[behaviour 13.8] [behaviour 5.6] while an exit settles no stall counts", "[engine]") {
    world w(c10d().run_policy(R"("progress":{"stallAfterSeconds":600,"stallAction":"Restart"})"));
    start_heard(w);
    say_step(w, at_step(10));
    w.wait(seconds{595});
    w.exit("node", 2, 1);
    w.settle();
    CHECK(w.status().restarts.settling);
    w.wait(seconds{6});
    w.settle();
    CHECK(w.status().backoff_count == 0);
    w.wait(seconds{10});
    w.settle();
    CHECK(w.status().backoff_count == 1);
    CHECK(w.status().restarts.last->cause == "PodFailed");
}

TEST_CASE(
    "[behaviour 13.8] [api colossalai runPolicy.progress] a ColossalAIJob is told of alone",
    "[engine]"
) {
    world w(colossalai().run_policy(R"("progress":{"stallAfterSeconds":60})"));
    w.reported_since = w.now();
    w.settle();
    for (int i = 0; i < 5; ++i) {
        w.run_all();
        w.settle();
    }
    REQUIRE(w.status().phase == job_phase::running);
    say_step(w, at_step(1));
    w.wait(seconds{60});
    w.settle();
    CHECK(w.condition("Stalled") == "True/NoProgress");
    CHECK(w.status().phase == job_phase::running);
}

TEST_CASE(
    "[behaviour 13.9] [api runPolicy.maxRestartsWithoutProgress] [api "
    "status.restarts.withoutProgress] restarts that bring it no further",
    "[engine]"
) {
    world w(ddp().run_policy("\"backoffLimit\":100,\"maxRestartsWithoutProgress\":3"));
    start_heard(w);
    const bool further = GENERATE(false, true);
    const std::vector<int> steps = further ? std::vector{1200, 1150, 1201, 900, 1201, 1200}
                                           : std::vector{1200, 1150, 1200, 900};
    for (const int n : steps) {
        REQUIRE(w.status().phase == job_phase::running);
        w.wait(seconds{1000});
        say_step(w, at_step(n));
        w.ask_deletion(w.pod("worker", 1));  // a disruption counts nothing
        run_after_stall(w);
        w.finish_deletions();
        run_after_stall(w);
        w.wait(seconds{100});
        w.exit("worker", 0, 1);
        run_after_stall(w);
    }
    CHECK(w.status().phase == job_phase::failed);
    CHECK(w.status().reason == "NoProgress");
    const condition* c = find_condition(w.status(), "Failed");
    REQUIRE(c != nullptr);
    INFO(c->message);
    CHECK(c->message.find("3 restarts have brought it no further") != std::string::npos);
    CHECK(w.status().backoff_count == static_cast<int>(steps.size()) - 1);
}

TEST_CASE("[behaviour 13.9] a job that reports nothing gets nowhere", "[engine]") {
    world w(ddp().run_policy("\"backoffLimit\":100,\"maxRestartsWithoutProgress\":1"));
    w.start();
    w.exit("worker", 0, 1);
    run_after_stall(w);
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.status().restarts.idle == 1);
    w.exit("worker", 0, 1);
    w.settle();
    CHECK(w.status().reason == "NoProgress");
}

TEST_CASE("[behaviour 13.9] whoever fails", "[engine]") {
    world w(ddp().run_policy(
        R"("failurePolicy":"Master","backoffLimit":100,"maxRestartsWithoutProgress":1)"
    ));
    w.start();
    w.exit("worker", 0, 1);
    run_after_stall(w);
    w.exit("worker", 0, 1);
    w.settle();
    CHECK(w.status().phase == job_phase::failed);
    CHECK(w.status().reason == "NoProgress");
}

TEST_CASE("[api 5.7] a damaged record of progress is put right", "[engine]") {
    world w(ddp().run_policy("\"maxRestartsWithoutProgress\":3"));
    start_heard(w);
    say_step(w, at_step(10));
    w.reported = {};
    SECTION("of a later attempt") {
        w.status().progress->attempt = 9;
        w.settle();
        CHECK_FALSE(w.status().progress);
    }
    SECTION("in the future") {
        w.status().progress->advanced = at(90'000);
        w.settle();
        CHECK_FALSE(w.status().progress);
    }
    SECTION("restarts that never were") {
        w.status().restarts.idle = 7;
        w.settle();
        CHECK(w.status().restarts.idle == 0);
    }
    CHECK(w.count_events("StatusRepaired") == 1);
}
