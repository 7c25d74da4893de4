// SPDX-License-Identifier: Apache-2.0
//
// All ranks end together, with time for a checkpoint (BEHAVIOUR.md 5.15, 13.13).
#include "engine/jobs.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace signalbox::core;
using signalbox::test::c10d;
using signalbox::test::ddp;
using signalbox::test::deepspeed;
using signalbox::test::job_builder;
using signalbox::test::set_pause;
using signalbox::test::start_heard;
using signalbox::test::world;

namespace {

/// Names of pods that no one has asked to end yet.
std::vector<std::string> untold_pods(world& w) {
    std::vector<std::string> out;
    for (const pod_record& p : w.pods()) {
        if (!p.deletion) {
            out.push_back(p.name);
        }
    }
    std::ranges::sort(out);
    return out;
}

/// Names of the pods that the first stage of the next decision deletes, if it does nothing else.
std::vector<std::string> told_in_first_stage(const world& w) {
    const decision d = w.look();
    std::vector<std::string> out;
    if (!d.stages.empty()) {
        for (const action& a : d.stages.front()) {
            const bool removal = a.kind == object_kind::pod && a.what() == verb::remove;
            out.push_back(removal ? a.name : "another action");
        }
    }
    std::ranges::sort(out);
    return out;
}

progress_message saved(std::int64_t step, std::int64_t took) {
    progress_message out;
    out.current_step = out.checkpoint_step = step;
    out.checkpoint_seconds = took;
    return out;
}

job_builder with_grace(int seconds_of_worker) {
    signalbox::test::replica master{.type = "master"};
    signalbox::test::replica worker{.type = "worker", .replicas = 2};
    worker.pod_more = "\"terminationGracePeriodSeconds\":" + std::to_string(seconds_of_worker);
    return job_builder("mnist").replicas(master).replicas(worker);
}

}  // namespace

TEST_CASE("[behaviour 5.15] one pod is taken, and all others are told at once", "[engine]") {
    const bool by_torchrun = GENERATE(false, true);
    world w(by_torchrun ? c10d(4).run_policy(R"("restartScope":"Job")") : ddp(3));
    w.slow_deletes = true;
    w.start();
    w.wait(seconds{70});
    w.ask_deletion(by_torchrun ? w.pod("node", 2) : w.pod("worker", 1), 600);
    const auto others = untold_pods(w);
    REQUIRE(others.size() == 3);
    w.pass();  // it is recorded, though the pod runs on
    REQUIRE(w.status().attempt == 2);
    CHECK(told_in_first_stage(w) == others);
    w.pass();
    CHECK(untold_pods(w).empty());
}

TEST_CASE("[behaviour 5.15] a stall, a pause, another size", "[engine]") {
    const std::string stall =
        R"("backoffLimit":3,"progress":{"stallAfterSeconds":600,"stallAction":"Restart"})";
    const auto of_size = [](int n) {
        return R"({"enabled":true,"minReplicas":1,"maxReplicas":4,"expectedReplicas":)" +
               std::to_string(n) + "}";
    };
    world w(deepspeed(3).field("elastic", of_size(3)).run_policy(stall));
    w.slow_deletes = true;
    start_heard(w);
    w.report(saved(5, 1));
    w.settle();
    const auto all = untold_pods(w);
    REQUIRE(all.size() == 3);
    SECTION("stall") {
        w.wait(seconds{600});
        w.pass();
        REQUIRE(w.status().restarts.last->cause == "Stalled");
    }
    SECTION("pause") {
        set_pause(w, true);
        w.pass();
        REQUIRE(w.status().phase == job_phase::paused);
    }
    SECTION("another size") {
        w.edit().field("elastic", of_size(2));
        w.reload();
        w.pass();
        REQUIRE(w.status().attempt == 2);
    }
    CHECK(told_in_first_stage(w) == all);
}

TEST_CASE(
    "[behaviour 13.13] [behaviour 11.2] a checkpoint that takes longer than pods have to end",
    "[engine]"
) {
    const int grace = GENERATE(20, 40);
    const std::int64_t least = std::min(grace, 30);
    world w(with_grace(grace));
    start_heard(w);
    w.wait(seconds{60});
    w.report(saved(100, least));
    w.settle();
    CHECK(w.status().progress->checkpoint_seconds == least);
    CHECK_FALSE(w.has_event("ShortGrace"));
    CHECK(w.status().reason.empty());
    w.report(saved(200, least + 1));
    w.settle();
    CHECK(w.count_events("ShortGrace") == 1);
    CHECK(w.status().reason == "ShortGrace");
    const std::string type = grace < 30 ? "worker" : "master";
    const condition* running = find_condition(w.status(), "Running");
    REQUIRE(running != nullptr);
    CHECK(
        running->message.find(
            "pods of type " + type + " have " + std::to_string(least) + " s to end"
        ) != std::string::npos
    );
    w.wait(seconds{60});
    w.report(saved(300, least + 5));
    w.settle();
    CHECK(w.count_events("ShortGrace") == 1);
    w.report(saved(400, 1));
    w.settle();
    CHECK(w.status().reason.empty());
}

TEST_CASE("[behaviour 13.13] a job that tells no duration is told nothing", "[engine]") {
    world w(ddp());
    start_heard(w);
    progress_message said = saved(100, 1);
    said.checkpoint_seconds.reset();
    w.report(said);
    w.settle();
    CHECK_FALSE(w.status().progress->checkpoint_seconds);
    CHECK_FALSE(w.has_event("ShortGrace"));
}
