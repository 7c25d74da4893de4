// SPDX-License-Identifier: Apache-2.0
//
// The size of a job that is not elastic, which the operator writes down (BEHAVIOUR.md 7.1, 7.5).
#include "engine/jobs.hpp"
#include "jobcore/children.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <utility>

using namespace signalbox;
using namespace signalbox::test;
using core::job_phase;
using core::object_kind;
using core::seconds;

namespace {

bool writes_size(const core::decision& d) {
    return !d.stages.empty() && d.stages.back().front().kind == object_kind::job &&
           d.stages.back().front().what() == core::verb::patch;
}

bool holds_size(const core::decision& d) {
    return writes_size(d) && d.stages.back().front().not_before.has_value();
}

std::string size_text(int n) {
    return "\"expectedReplicas\":" + std::to_string(n) + "}";
}

}  // namespace

TEST_CASE("[behaviour 7.1] a job that is not elastic gets its size, once and alone", "[engine]") {
    const auto [job, size] = GENERATE(
        std::pair(ddp(2), 3),
        std::pair(c10d(4), 4),
        std::pair(deepspeed(2), 2),
        std::pair(deepspeed(1), 1),
        std::pair(deepspeed(2).debug(), 2),
        std::pair(colossalai(3), 4),
        std::pair(colossalai(3).debug(), 4),
        std::pair(ddp(2).expected(9), 3),
        std::pair(ddp(0), 1)
    );
    world w(job);
    w.start();
    w.run_all();
    REQUIRE(w.job_patches.size() == 1);
    const std::string& body = w.job_patches.front();
    CHECK(body.find(size_text(size)) != body.npos);
    CHECK(body.find("\"resourceVersion\":\"1\"") != body.npos);
    CHECK(body.find("\"uid\":\"" + w.job().meta.uid) != body.npos);
    CHECK(w.job().compiled->spec->noted_replicas == size);
    CHECK(w.status().observed_generation == 2);
    CHECK(w.status().phase == job_phase::running);

    // Nothing follows from it.
    CHECK(static_cast<int>(w.pods().size()) == size);
    CHECK(w.status().attempt == 1);
    CHECK_FALSE(w.has_event("SpecChanged"));
    CHECK_FALSE(w.has_event("Scaled"));
    w.settle();
    CHECK(w.job_patches.size() == 1);
}

TEST_CASE("[behaviour 7.1] the size waits until nothing else is to be done", "[engine]") {
    world w(GENERATE(ddp(2), colossalai(2)));
    int quiet = 0;
    for (bool acts = true; acts;) {
        acts = w.pass();
        if (writes_size(w.last())) {
            ++quiet;
            CHECK_FALSE(w.last().status.has_value());
            CHECK(w.last().stages.size() == 1);
            CHECK(w.last().stages.front().size() == 1);
        }
    }
    CHECK(quiet == 1);
}

TEST_CASE("[behaviour 7.1] a size that is there is left alone", "[engine]") {
    world w(GENERATE(
        job_builder(ddp(2).expected(3)),
        job_builder(deepspeed(2).expected(2)),
        job_builder(colossalai(2).expected(3))
    ));
    w.start();
    CHECK(w.job_patches.empty());
    CHECK_FALSE(w.has_event("FieldIgnored"));
    CHECK(w.status().observed_generation == 1);
}

TEST_CASE("[behaviour 7.1] a wrong size is warned of once, and corrected", "[engine]") {
    world w(ddp(2).expected(9));
    w.start();
    CHECK(w.count_events("FieldIgnored") == 1);
    CHECK(w.job_patches.size() == 1);
}

TEST_CASE("[behaviour 7.1] no size is written into a paused job", "[engine]") {
    world w(ddp(2).pause());
    w.settle();
    CHECK(w.job_patches.empty());
    set_pause(w, false);
    w.start();
    REQUIRE(w.job_patches.size() == 1);

    // Replicas that change during a pause are noted after the resume; until then the old note
    // stays, and no user is warned of what the operator wrote itself.
    set_pause(w, true);
    w.settle();
    w.edit() = job_builder(ddp(4).expected(3).pause());
    w.reload();
    w.settle();
    CHECK(w.job_patches.size() == 1);
    CHECK_FALSE(w.has_event("FieldIgnored"));
    set_pause(w, false);
    w.start();
    REQUIRE(w.job_patches.size() == 2);
    CHECK(w.job_patches.back().find(size_text(5)) != std::string::npos);
    CHECK_FALSE(w.has_event("FieldIgnored"));
}

TEST_CASE("[behaviour 7.1] [behaviour 10.4] no size is written before it is in force", "[engine]") {
    world w(ddp(1));
    w.start();
    REQUIRE(w.job_patches.size() == 1);
    SECTION("more replicas, by an edit that got past the rules") {
        w.edit() = job_builder(ddp(3).expected(2));
        w.reload();
        w.settle();
        CHECK(w.job_patches.size() == 1);
        w.exit("master", 0, 137);
        w.settle();
        w.wake();
        w.start();
        REQUIRE(w.job_patches.size() == 2);
        CHECK(w.job_patches.back().find(size_text(4)) != std::string::npos);
    }
    SECTION("another type in front") {
        w.edit() = job_builder("mnist").replicas("other", 1).replicas("worker", 2);
        w.reload();
        w.settle();
        CHECK(w.job_patches.size() == 1);
    }
}

TEST_CASE("[behaviour 7.1] no size is written into a job that has ended", "[engine]") {
    world w(ddp(1));
    w.refusals.push_back(refused(w, object_kind::job, "mnist", 403, {}, 0));
    w.start();
    w.exit("master", 0, 0);
    w.refusals.clear();
    w.settle();
    REQUIRE(w.status().phase == job_phase::succeeded);
    CHECK(w.job_patches.empty());
}

TEST_CASE("[behaviour 7.1] [behaviour 4.2] no size is written into an invalid job", "[engine]") {
    world w(ddp(1));
    w.refusals.push_back(refused(w, object_kind::job, "mnist", 403, {}, 0));
    w.start();
    w.refusals.clear();
    w.edit().field("managedBy", "7");
    w.reload();
    w.settle();
    CHECK(w.job_patches.empty());
}

TEST_CASE("[behaviour 7.1] a refused size holds nothing, and is not forgotten", "[engine]") {
    world w(ddp(1));
    w.refusals.push_back(refused(w, object_kind::job, "mnist", 403, {}, 0));
    // Beside other work it is returned and held: what is no longer returned is no longer known to
    // be refused (12.5). Not beside a record (12.3).
    for (bool acts = true; acts;) {
        acts = w.pass();
        const bool records = w.last().status && !w.last().deferrable();
        CHECK(holds_size(w.last()) == !records);
    }
    w.start();
    CHECK(w.job_patches.empty());
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.look().wake_up == w.now() + seconds(10));

    w.wait(seconds(10));
    w.settle();
    CHECK(w.job_patches.size() == 1);
}

TEST_CASE("[behaviour 7.1] a refused size stands back when its time comes too", "[engine]") {
    world w(ddp(1));
    w.refusals.push_back(refused(w, object_kind::job, "mnist", 403, {}, 0));
    w.pass();
    w.wait(seconds(10));
    const core::decision d = w.look();
    REQUIRE(d.stages.size() > 1);
    CHECK(holds_size(d));
}

TEST_CASE("[behaviour 7.1] a job that is on no API server gets no size", "[engine]") {
    std::string text = colossalai(2).json();
    const std::string version = R"("resourceVersion":"1",)";
    text.erase(text.find(version), version.size());
    core::job_object job = *core::read_job(text);
    core::job_children children;
    bool rests = false;
    for (int passes = 0; passes < 20 && !rests; ++passes) {
        const core::decision d = core::decide(job, children.seen(), core::policy(), story_start);
        job.status = d.status.value_or(job.status);
        const auto done = children.carry_out(job, d, story_start, [](const core::action& a) {
            CHECK(a.kind != object_kind::job);
            return core::job_children::done{"uid-" + a.name};
        });
        rests = done == core::progress::nothing && !d.status;
    }
    CHECK(rests);
}

TEST_CASE("[behaviour 11.1] warnings of a later specification are told once", "[engine]") {
    const auto board = [](const std::string& more) {
        return R"({"image":"tb:1","trainingLogFilesets":["t9k://pvc/logs/run"])" + more + "}";
    };
    const std::string ignored = R"(,"scheduler":{"t9kScheduler":{"queue":"q"}})";
    const auto change = [&](world& w, const std::string& more) {
        w.edit().field("tensorboardSpec", board(more));
        w.reload();
        w.settle();
    };
    world w(
        ddp(1).field("tensorboardSpec", board({})).field("torchrunConfig", R"({"enable":false})")
    );
    w.start();
    CHECK(w.count_events("DeprecatedField") == 1);
    CHECK_FALSE(w.has_event("FieldIgnored"));

    change(w, ignored);
    CHECK(w.count_events("FieldIgnored") == 1);
    CHECK(w.events.back().message.find("/spec/tensorboardSpec/scheduler") == 0);
    SECTION("not with the next one that still has them") {
        w.edit().run_policy("\"backoffLimit\":7");
        w.reload();
        w.settle();
        CHECK(w.count_events("FieldIgnored") == 1);
    }
    SECTION("not when the specification was invalid in between") {
        w.edit().field("managedBy", "7");
        w.reload();
        w.settle();
        w.edit().field("managedBy", "null");
        w.reload();
        w.settle();
        CHECK(w.count_events("FieldIgnored") == 1);
    }
    SECTION("again when they come again") {
        change(w, {});
        CHECK(w.count_events("FieldIgnored") == 1);
        change(w, ignored);
        CHECK(w.count_events("FieldIgnored") == 2);
    }
    CHECK(w.count_events("DeprecatedField") == 1);
    CHECK(w.count_events("Created") == 1);
}

TEST_CASE(
    "[behaviour 11.1] warnings of a generation that was never recorded are told", "[engine]"
) {
    world w(ddp(1));
    w.start();
    w.edit().field(
        "tensorboardSpec",
        R"({"trainingLogFilesets":["t9k://pvc/c/p"],"scheduler":{"t9kScheduler":{"queue":"q"}}})"
    );
    w.reload();
    w.edit().run_policy("\"backoffLimit\":7");
    w.reload();
    w.settle();
    CHECK(w.count_events("FieldIgnored") == 1);
}

TEST_CASE("[behaviour 11.1] a fresh process tells no warnings of an edit", "[engine]") {
    world w(ddp(1));
    w.start();
    w.edit()
        .field(
            "tensorboardSpec",
            R"({"trainingLogFilesets":["t9k://pvc/c/p"],"scheduler":{"t9kScheduler":{"queue":"q"}}})"
        )
        .generation(9);
    core::job_object fresh = *core::read_job(w.edit().json());
    fresh.status = w.status();
    const core::decision d = core::decide(fresh, core::observed{}, w.rules(), w.now());
    REQUIRE(d.status->observed_generation == 9);
    for (const core::event& e : d.events) {
        CHECK(e.reason != "FieldIgnored");
    }
}

TEST_CASE("[behaviour 11.1] no one is told of a job that has ended", "[engine]") {
    world w(ddp(1));
    w.start();
    w.exit("master", 0, 0);
    w.settle();
    REQUIRE(w.status().phase == job_phase::succeeded);
    w.edit().field(
        "tensorboardSpec",
        R"({"trainingLogFilesets":["t9k://pvc/c/p"],"scheduler":{"t9kScheduler":{"queue":"q"}}})"
    );
    w.reload();
    w.settle();
    CHECK_FALSE(w.has_event("FieldIgnored"));
}
