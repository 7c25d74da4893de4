// SPDX-License-Identifier: Apache-2.0
//
// The life of jobs that ask Kueue for quota (BEHAVIOUR.md 8.10-8.14).
#include "engine/jobs.hpp"
#include "kueue/kueue_world.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

using namespace signalbox;
using namespace signalbox::test;
using core::job_phase;
using names = std::vector<std::string>;

namespace {

job_builder queued(job_builder job = ddp(2)) {
    return job.field("scheduler", R"({"kueue":{"queueName":"team-a"}})");
}

job_builder elastic_job(int min, int size, int max) {
    return queued(job_builder("mnist").replicas("node", size).torchrun().elastic(min, max, size));
}

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != text.npos;
}

/// Admitted and running.
kueue_world running(const job_builder& job) {
    kueue_world w(job);
    w.settle();
    w.admit();
    w.settle();
    w.run_all();
    w.settle();
    REQUIRE(w.status().phase == job_phase::running);
    return w;
}

std::size_t count_events(const kueue_world& w, std::string_view reason) {
    return static_cast<std::size_t>(std::ranges::count(w.events(), reason, &core::event::reason));
}

}  // namespace

TEST_CASE("[behaviour 8.11] no pod before the admission, and Kueue's words", "[engine]") {
    kueue_world w(queued());
    w.settle();
    CHECK(w.has_workload());
    CHECK(w.pods().empty());
    CHECK(w.status().phase == job_phase::pending);
    CHECK(w.status().reason == "WaitingForQuota");
    w.wait_with("couldn't assign flavors to pod set worker: insufficient unused quota for cpu");
    w.settle();
    CHECK(w.pods().empty());
    CHECK(has(w.waits_for(), "in queue team-a: Pending: couldn't assign flavors"));
    CHECK(has(w.waits_for(), "insufficient unused quota for cpu"));
    CHECK_FALSE(w.status().start_time);

    w.admit();
    w.settle();
    CHECK(w.pods() == names{"master-0", "worker-0", "worker-1"});
    REQUIRE(w.status().admission);
    CHECK(w.status().admission->find("worker")->count == 2);
    CHECK(w.status().start_time);
}

TEST_CASE("[behaviour 8.10] the Workload asks by role", "[engine]") {
    kueue_world w(queued(ddp(2).field("runMode", "{}")));
    w.settle();
    const std::string made = w.workload();
    CHECK(has(made, R"("queueName":"team-a")"));
    CHECK(has(made, R"({"name":"master","count":1,"template":{"spec":{"containers":[{"name":)"));
    CHECK(has(made, R"({"name":"worker","count":2,)"));
    CHECK_FALSE(has(made, "minCount"));
    CHECK_FALSE(has(made, "finalizers"));
}

TEST_CASE(
    "[behaviour 8.12] [behaviour 12.15] [api status.admission] flavours are read before pods, and "
    "are on them alone",
    "[engine]"
) {
    kueue_world w(queued());
    w.add_flavor(
        "spot",
        R"({"nodeLabels":{"pool":"spot"},"tolerations":[{"key":"spot","operator":"Exists","effect":"NoSchedule"}]})"
    );
    w.settle();
    SECTION("read once") {
        w.admit({}, "spot");
        w.settle();
        CHECK(w.reads() == 1);
        const std::string pod = w.pod_json("worker-0");
        CHECK(has(pod, R"("nodeSelector":{"pool":"spot"})"));
        CHECK(has(pod, R"({"key":"spot","operator":"Exists","effect":"NoSchedule"})"));
        w.run_all();
        w.settle();
        CHECK(w.status().phase == job_phase::running);
        // Another admission, another flavour.
        w.add_flavor("own", R"({"nodeLabels":{"pool":"own"}})");
        w.evict("Preempted", "for another one");
        w.settle();
        w.finish_deletions();
        w.settle();
        w.pass_time(core::seconds(5));
        w.admit({}, "own");
        w.settle();
        CHECK(has(w.pod_json("worker-0"), R"("nodeSelector":{"pool":"own"})"));
        CHECK_FALSE(has(w.pod_json("worker-0"), "NoSchedule"));
    }
    SECTION("not before it can be read") {
        w.refuse_reads(403);
        w.admit({}, "spot");
        w.settle();
        CHECK(w.pods().empty());
        CHECK_FALSE(w.status().admission);
        CHECK(has(w.waits_for(), "cannot get spot"));
        w.refuse_reads(0);
        w.pass_time(core::seconds(15));
        w.settle();
        CHECK(w.pods().size() == 3);
    }
}

TEST_CASE("[behaviour 8.13] an eviction stops all pods, then gives quota back", "[engine]") {
    kueue_world w = running(queued());
    w.evict("Preempted", "to accommodate another workload");
    w.settle();
    CHECK(w.pods().empty());
    CHECK(w.status().phase == job_phase::pending);
    CHECK(w.status().reason == "WaitingForQuota");
    CHECK(
        has(w.waits_for(), "Preempted: to accommodate another workload; its pods are being stopped")
    );
    CHECK(w.used() == 3);  // they still run
    CHECK(w.told("QuotaReserved") == "True");
    w.finish_deletions();
    w.settle();
    CHECK(w.used() == 0);
    CHECK(w.told("Admitted") == "False");
    CHECK(w.told("PodsReady") == "False");
    CHECK(w.status().attempt == 2);
    CHECK(w.status().backoff_count == 0);
    CHECK(w.status().restarts.disruptions == 0);
    CHECK(w.status().attempt_history.back().reason == "Evicted");
    CHECK(count_events(w, "Evicted") == 1);
    CHECK_FALSE(w.status().start_time);

    w.pass_time(core::seconds(60));
    w.admit();
    w.settle();
    CHECK(w.pods().size() == 3);
    w.run_all();
    w.settle();
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.told("PodsReady") == "True");
}

TEST_CASE("[behaviour 8.13] an eviction that comes before its admission is recorded", "[engine]") {
    kueue_world w(queued());
    w.settle();
    w.admit();
    w.evict("Deactivated", "by hand");
    w.settle();
    CHECK(w.pods().empty());
    CHECK(w.used() == 0);
    CHECK(w.status().attempt == 1);
}

TEST_CASE("[behaviour 8.13] an admission that came unseen is another one", "[engine]") {
    kueue_world w = running(queued());
    w.pass_time(core::seconds(30));
    w.admit();
    w.settle();
    CHECK(w.status().attempt == 2);
    CHECK(w.pods().empty());
}

TEST_CASE("[behaviour 8.13] a Workload that somebody deletes", "[engine]") {
    kueue_world w = running(queued());
    w.remove_workload();
    w.settle();
    w.finish_deletions();
    w.settle();
    CHECK(w.has_workload());
    CHECK(w.pods().empty());
    CHECK(w.status().attempt == 2);
    CHECK(w.status().backoff_count == 0);
}

TEST_CASE("[behaviour 8.13] a ColossalAIJob starts anew after an eviction", "[engine]") {
    kueue_world w(queued(colossalai(2).run_policy(R"("cleanUpWorkers":true)")));
    const auto run_stages = [&] {
        w.admit();
        w.settle();
        CHECK(w.pods() == names{"worker-0", "worker-1"});
        w.run_all();
        w.settle();
        CHECK(w.pods() == names{"launcher-0", "worker-0", "worker-1"});
        w.run_all();
        w.settle();
        CHECK(w.status().phase == job_phase::running);
    };
    w.settle();
    CHECK(has(w.workload(), R"({"name":"launcher","count":1,)"));
    run_stages();
    CHECK(w.used() == 3);
    w.evict("Preempted", "to accommodate another workload");
    w.settle();
    w.finish_deletions();
    w.settle();
    CHECK(w.used() == 0);
    CHECK(w.pods().empty());
    CHECK(w.status().phase == job_phase::pending);
    CHECK(w.status().reason == "WaitingForQuota");
    w.pass_time(core::seconds(60));
    run_stages();
    CHECK(w.status().attempt == 2);
    CHECK(w.status().restarts.disruptions == 0);
    // It restarts nothing that fails by itself.
    w.end_pod("launcher-0", 1);
    w.settle();
    w.pass_time(core::seconds(60));
    w.settle();
    CHECK(w.status().phase == job_phase::failed);
}

TEST_CASE("[behaviour 8.13] a pause gives quota back once pods have stopped", "[engine]") {
    kueue_world w = running(queued());
    w.edit().pause();
    w.apply();
    w.settle();
    CHECK(w.status().phase == job_phase::paused);
    CHECK(w.used() == 3);
    CHECK_FALSE(w.status().admission);
    w.finish_deletions();
    w.settle();
    CHECK_FALSE(w.has_workload());
    w.edit().pause(false);
    w.apply();
    w.settle();
    CHECK(w.has_workload());
    CHECK(w.pods().empty());
    CHECK(w.status().phase == job_phase::resuming);
    CHECK(w.status().reason == "WaitingForQuota");
    w.admit();
    w.settle();
    CHECK(w.pods().size() == 3);
}

TEST_CASE("[behaviour 8.13] an end gives quota back for good", "[engine]") {
    const auto [code, reason] =
        GENERATE(table<int, std::string>({{0, "Succeeded"}, {1, "Failed"}}));
    kueue_world w = running(queued(ddp(2, "Never").run_policy(R"("cleanUpPolicy":"All")")));
    w.end_pod("master-0", code);
    w.settle();
    w.pass_time(core::seconds(60));
    w.settle();
    CHECK(w.used() == 3);
    w.finish_deletions();
    w.settle();
    CHECK(w.used() == 0);
    CHECK(w.told("Finished") == "True");
    CHECK(has(w.workload(), R"("reason":")" + reason + '"'));
    const int writes = w.writes();
    w.settle();
    CHECK(w.writes() == writes);
}

TEST_CASE("[behaviour 8.13] [behaviour 1.3] a node that is lost keeps no quota", "[engine]") {
    kueue_world w = running(queued(ddp(2).run_policy(R"("cleanUpPolicy":"All")")));
    const auto lose = GENERATE(values<void (*)(kueue_world&)>(
        {[](kueue_world& it) { it.evict("Preempted", "to accommodate another workload"); },
         [](kueue_world& it) {
             it.edit().pause();
             it.apply();
         },
         [](kueue_world& it) { it.end_pod("master-0", 0); }}
    ));
    lose(w);
    w.settle();
    // No pod is ever seen to end: the clock alone calls.
    for (int wakes = 0; wakes < 4 && w.used() > 0; ++wakes) {
        REQUIRE(w.wake());
    }
    CHECK(w.used() == 0);
}

TEST_CASE("[behaviour 8.14] completed replicas give their quota back", "[engine]") {
    kueue_world w = running(queued());
    w.end_pod("worker-1", 0);
    w.settle();
    CHECK(w.used() == 2);
    CHECK(w.pods().size() == 3);
    // All start anew, and need it again.
    w.end_pod("worker-0", 1);
    w.settle();
    w.pass_time(core::seconds(30));
    w.settle();
    w.finish_deletions();
    w.settle();
    CHECK(w.status().attempt == 2);
    CHECK(w.pods().empty());
    CHECK(w.used() == 0);
    CHECK(w.told("QuotaReserved") == "False");
    w.admit();
    w.settle();
    CHECK(w.pods().size() == 3);
    CHECK(w.status().backoff_count == 1);
}

TEST_CASE("[behaviour 8.14] pods that are not ready any more are told", "[engine]") {
    kueue_world w = running(queued());
    CHECK(w.told("PodsReady") == "True");
    w.end_pod("worker-0", 1);
    w.settle();
    w.pass_time(core::seconds(30));
    w.settle();
    w.finish_deletions();
    w.settle();
    CHECK(w.pods().size() == 3);  // in the same admission
    CHECK(w.status().attempt == 2);
    CHECK(w.told("PodsReady") == "False");
    w.run_all();
    w.settle();
    CHECK(w.told("PodsReady") == "True");
}

TEST_CASE("[behaviour 8.14] an elastic job is admitted in part", "[engine]") {
    kueue_world w(elastic_job(2, 6, 8));
    w.settle();
    CHECK(has(w.workload(), R"("count":6,"minCount":2)"));
    w.admit({{"node", 4}});
    w.settle();
    CHECK(w.pods().size() == 4);
    CHECK(w.status().tasks.front().wanted == 4);
    w.run_all();
    w.settle();
    CHECK(w.status().phase == job_phase::running);
    SECTION("a smaller size gives the rest back") {
        w.edit().expected(3);
        w.apply();
        w.settle();
        w.finish_deletions();
        w.settle();
        CHECK(w.pods().size() == 3);
        CHECK(w.used() == 3);
    }
    SECTION("a larger one is asked for anew") {
        w.edit().expected(8);
        w.apply();
        w.settle();
        CHECK(w.pods().empty());
        w.finish_deletions();
        w.settle();
        CHECK(has(w.workload(), R"("count":8,"minCount":2)"));
        CHECK(w.used() == 0);
        w.admit();
        w.settle();
        CHECK(w.pods().size() == 8);
    }
    SECTION("an eviction asks for all again") {
        w.evict("Preempted", "");
        w.settle();
        w.finish_deletions();
        w.settle();
        w.pass_time(core::seconds(5));
        w.admit();
        w.settle();
        CHECK(w.pods().size() == 6);
    }
}

TEST_CASE("[behaviour 8.10] [api status.queue] a label names the queue", "[engine]") {
    kueue_world w(ddp(2), "team-b");
    w.settle();
    CHECK(has(w.workload(), R"("queueName":"team-b")"));
    CHECK(w.status().queue == "team-b");
    w.admit();
    w.settle();
    w.run_all();
    w.settle();
    SECTION("another label has no effect, and a condition says so") {
        w.set_label("team-c");
        w.settle();
        CHECK(w.pods().size() == 3);
        CHECK(w.status().phase == job_phase::running);
        CHECK(w.status().reason == "QueueIgnored");
        CHECK(has(w.waits_for(), "queue team-c"));
        CHECK(count_events(w, "QueueIgnored") == 1);
        w.edit().pause();
        w.apply();
        w.settle();
        w.finish_deletions();
        w.settle();
        w.edit().pause(false);
        w.apply();
        w.settle();
        CHECK(has(w.workload(), R"("queueName":"team-c")"));
        CHECK(w.status().queue == "team-c");
    }
    SECTION("nor has none") {
        w.set_label("");
        w.settle();
        CHECK(w.pods().size() == 3);
        CHECK(w.status().reason == "QueueIgnored");
        CHECK(w.used() == 3);
    }
}

TEST_CASE(
    "[behaviour 11.2] a job that waits says for what, and which facts there are", "[engine]"
) {
    kueue_world w(ddp(2), "team-b");
    w.settle();
    const std::string awaited = w.waits_for();
    REQUIRE(w.status().reason == "WaitingForQuota");
    REQUIRE_FALSE(awaited.empty());
    w.set_label("team-c");
    w.settle();
    CHECK(w.status().reason == "WaitingForQuota");
    CHECK(w.waits_for().find(awaited + "; QueueIgnored: the label ") == 0);
}

TEST_CASE("[behaviour 8.10] a label on a job that runs without Kueue", "[engine]") {
    kueue_world w(ddp(2));
    w.settle();
    w.run_all();
    w.settle();
    w.set_label("team-a");
    w.settle();
    CHECK_FALSE(w.has_workload());
    CHECK(w.pods().size() == 3);
    CHECK(w.status().attempt == 1);
    CHECK(w.status().reason == "QueueIgnored");
}

TEST_CASE("[behaviour 8.13] quota is exact wherever the process dies", "[engine]") {
    for (int write = 1; write < 40; ++write) {
        INFO("before write " << write);
        kueue_world w(queued());
        w.die_before(write);
        const auto go = [&] {
            w.settle();
            w.restart();
            w.settle();
        };
        go();
        w.admit();
        w.settle();
        w.run_all();
        w.settle();
        CHECK(w.status().phase == job_phase::running);
        w.die_before(write);
        w.evict("Preempted", "");
        go();
        w.finish_deletions();
        w.die_before(write);
        go();
        CHECK(w.used() == 0);
        w.pass_time(core::seconds(60));
        w.admit();
        w.die_before(write);
        go();
        w.run_all();
        w.settle();
        CHECK(w.pods().size() == 3);
        CHECK(w.status().backoff_count == 0);
        CHECK(w.status().attempt == 2);
        w.end_pod("master-0", 0);
        w.die_before(write);
        go();
        w.pass_time(core::seconds(60));
        go();
        w.finish_deletions();
        go();
        CHECK(w.used() == 0);
        CHECK(w.told("Finished") == "True");
    }
}

TEST_CASE(
    "[behaviour 8.3] [behaviour 8.13] who is resumed without a queue keeps none of its quota",
    "[engine]"
) {
    kueue_world w(ddp(2), "team-b");
    w.settle();
    w.admit();
    w.settle();
    w.run_all();
    w.settle();
    w.edit().pause();
    w.apply();
    w.settle();
    w.set_label("");
    w.edit().pause(false);
    w.apply();
    w.settle();
    CHECK(w.has_workload());  // its pods have not stopped
    w.finish_deletions();
    w.settle();
    CHECK(w.status().queue.empty());
    CHECK(w.pods().size() == 3);
    CHECK_FALSE(w.has_workload());
}
