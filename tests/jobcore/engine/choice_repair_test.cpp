// SPDX-License-Identifier: Apache-2.0
//
// Somebody changes what is on record of who schedules a job (BEHAVIOUR.md api 5.7): its pods go on,
// and those that are made later are scheduled as they are.
#include "engine/jobs.hpp"
#include "kueue/kueue_world.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>

using namespace signalbox;
using namespace signalbox::test;
using core::job_phase;
using core::served;

namespace {

/// A job on a server that has several schedulers.
struct chosen_world : world {
    explicit chosen_world(const job_builder& job) : world(job) {
        for (const char* name : {"kubernetes", "volcano", "coscheduling"}) {
            served.set(gang_kind_of(name), served::yes);
        }
        served.set(core::object_kind::pod_group, served::no);
    }

    std::set<std::string> uids() {
        std::set<std::string> out;
        for (const core::pod_record& pod : pods()) {
            out.insert(pod.uid);
        }
        return out;
    }

    std::ptrdiff_t gangs() {
        return std::ranges::count_if(children(), [](const core::child_record& c) {
            return c.kind->use == core::kind_use::gang;
        });
    }

    /// Somebody writes that, and the job is read anew.
    void damage(const std::string& scheduler) {
        status().scheduler = scheduler;
        reload();
        settle();
    }
};

job_builder choosing_job() {
    return ddp(2).field("scheduler", R"({"auto":{}})");
}

/// A failure costs all pods, and others are made.
void lose_all_once(world& w) {
    w.exit("worker", 0, 1);
    w.settle();
    w.finish_deletions();
    w.settle();
    w.run_all();
    w.settle();
}

}  // namespace

TEST_CASE("[api 5.7] [behaviour 8.15] pods tell which scheduler was chosen for them", "[engine]") {
    chosen_world w(choosing_job());
    w.start();
    REQUIRE(w.status().scheduler == "kubernetes");
    const auto before = w.uids();
    const std::string written =
        GENERATE("", "auto", "none", "volcano", "kueue", "coscheduling", "nonsense");
    INFO(written);
    w.damage(written);
    CHECK(w.status().scheduler == "kubernetes");
    CHECK(w.count_events("StatusRepaired") == 1);
    CHECK(w.uids() == before);
    CHECK(w.gangs() == 1);
    lose_all_once(w);
    CHECK(w.status().scheduler == "kubernetes");
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.pod("worker", 1).gang != nullptr);
    CHECK(w.gangs() == 1);
    CHECK(w.count_events("StatusRepaired") == 1);
}

TEST_CASE("[api 5.7] pods without marks tell that no scheduler was chosen for them", "[engine]") {
    const bool asks = GENERATE(false, true);
    chosen_world w(asks ? choosing_job() : ddp(2));
    if (asks) {
        w.served.set(gang_kind_of("kubernetes"), served::no);
        w.served.set(gang_kind_of("volcano"), served::no);
    }
    w.start();
    const std::string chosen = w.status().scheduler;
    REQUIRE(chosen == (asks ? "none" : ""));
    const auto before = w.uids();
    const std::string written = GENERATE("kubernetes", "volcano", "auto", "kueue", "nonsense");
    INFO(written);
    w.damage(written);
    CHECK(w.status().scheduler == chosen);
    CHECK(w.count_events("StatusRepaired") == 1);
    CHECK(w.uids() == before);
    CHECK(w.gangs() == 0);
    lose_all_once(w);
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.pod("worker", 1).gang == nullptr);
    CHECK(w.gangs() == 0);
}

TEST_CASE("[api 5.7] pods that go tell it to the attempt that follows", "[engine]") {
    chosen_world w(choosing_job());
    w.slow_deletes = true;
    w.start();
    w.exit("worker", 0, 1);
    w.settle();
    REQUIRE(w.status().attempt == 2);
    w.damage(GENERATE("none", "volcano"));
    CHECK(w.status().scheduler == "kubernetes");
    w.finish_deletions();
    w.settle();
    REQUIRE(w.pods().size() == 3);
    CHECK(w.pod("master", 0).gang != nullptr);
    SECTION("but not after a resume, which may have chosen another") {
        set_pause(w, true);
        w.settle();
        w.served.set(gang_kind_of("kubernetes"), served::no);
        set_pause(w, false);
        w.settle();
        CHECK(w.status().scheduler == "volcano");
        CHECK(w.count_events("StatusRepaired") == 1);
    }
}

TEST_CASE("[api 5.7] others' pods and those of other attempts tell of no scheduler", "[engine]") {
    const bool comes_first = GENERATE(true, false);
    chosen_world w(choosing_job());
    w.slow_deletes = true;
    w.start();
    REQUIRE(w.status().scheduler == "kubernetes");
    core::pod_record other = w.pod("worker", 0);
    other.uid = "other";
    other.gang = nullptr;
    const auto check_told = [&] {
        auto& pods = w.pods();
        pods.insert(comes_first ? pods.begin() : pods.end(), other);
        w.damage("volcano");
        CHECK(w.status().scheduler == "kubernetes");
        CHECK(w.count_events("StatusRepaired") == 1);
    };
    SECTION("of an earlier job of the same name") {
        other.owner_uid = "somebody-else";
        check_told();
    }
    SECTION("of another attempt") {
        other.attempt = 7;
        check_told();
    }
    SECTION("with labels that do not fit its name") {
        other.index = 5;
        check_told();
    }
}

TEST_CASE("[api 5.7] a job that names its scheduler has no other one on record", "[engine]") {
    chosen_world w(ddp(2).field("scheduler", R"({"kubernetes":{}})"));
    w.start();
    const std::string written = GENERATE("volcano", "auto", "none", "nonsense");
    w.damage(written);
    CHECK(w.status().scheduler.empty());
    CHECK(w.count_events("StatusRepaired") == 1);
    CHECK(w.count_children(gang_kind_of("kubernetes")) == 1);
    CHECK(w.gangs() == 1);
}

TEST_CASE("[api 5.7] what cannot be chosen is chosen anew before there are pods", "[engine]") {
    chosen_world w(choosing_job());
    w.served.set(gang_kind_of("kubernetes"), served::unknown);
    w.settle();
    REQUIRE(w.status().scheduler == "auto");
    w.damage(GENERATE("", "kueue", "nonsense", "coscheduling"));
    CHECK(w.status().scheduler == "auto");
    CHECK(w.pods().empty());
}

namespace {

job_builder queued_job() {
    return ddp(2).field("scheduler", R"({"kueue":{"queueName":"team-a"}})");
}

void run_queued(kueue_world& w) {
    w.settle();
    if (w.has_workload()) {
        w.admit();
    }
    w.settle();
    w.run_all();
    w.settle();
    REQUIRE(w.pods().size() == 3);
}

int count_repairs(const kueue_world& w) {
    return static_cast<int>(
        std::ranges::count(w.events(), std::string("StatusRepaired"), &core::event::reason)
    );
}

void damage_queue(kueue_world& w, const std::string& queue) {
    w.stored_status().queue = queue;
    w.restart();
    w.settle();
}

/// It runs as it did.
void check_runs(const kueue_world& w, const std::string& queue) {
    CHECK(w.status().queue == queue);
    CHECK(count_repairs(w) == 1);
    CHECK(w.status().attempt == 1);
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.pods().size() == 3);
}

}  // namespace

TEST_CASE("[api 5.7] [behaviour 8.10] what has the quota tells the queue", "[engine]") {
    kueue_world w(ddp(2), "team-b");
    run_queued(w);
    damage_queue(w, GENERATE("", "team-z", "NO NAME"));
    check_runs(w, "team-b");
    CHECK(w.workload().find(R"("queueName":"team-b")") != std::string::npos);
    CHECK(w.used() == 3);
    SECTION("also where the label was changed since") {
        w.set_label("team-c");
        w.settle();
        damage_queue(w, "team-c");
        CHECK(w.status().queue == "team-b");
        CHECK(w.status().reason == "QueueIgnored");
    }
}

TEST_CASE("[api 5.7] pods that run without quota tell that there is no queue", "[engine]") {
    kueue_world w(ddp(2));
    run_queued(w);
    damage_queue(w, "team-z");
    check_runs(w, "");
    CHECK_FALSE(w.has_workload());
}

TEST_CASE("[api 5.7] a queue that the specification names counts", "[engine]") {
    const std::string label = GENERATE("", "team-a");
    kueue_world w(queued_job(), label);
    run_queued(w);
    damage_queue(w, "team-z");
    check_runs(w, label);
    CHECK(w.used() == 3);
    CHECK(w.workload().find(R"("queueName":"team-a")") != std::string::npos);
}

TEST_CASE("[api 5.7] a queue beside another scheduler makes nothing invalid", "[engine]") {
    world w(ddp(2).field("scheduler", R"({"t9kScheduler":{"queue":"q","priority":5}})"));
    w.served.set(core::object_kind::pod_group, served::yes);
    w.start();
    w.status().queue = "team-z";
    w.reload();
    w.settle();
    CHECK(w.status().queue.empty());
    CHECK(w.count_events("InvalidSpec") == 0);
    CHECK(w.count_events("StatusRepaired") == 1);
    CHECK(w.status().phase == job_phase::running);
}

TEST_CASE(
    "[api 5.7] a queue that is lost while the job waits is that of its Workload", "[engine]"
) {
    const bool named = GENERATE(true, false);
    kueue_world w(named ? ddp(2).field("scheduler", R"({"kueue":{}})") : ddp(2), "team-b");
    w.settle();
    REQUIRE(w.has_workload());
    damage_queue(w, "");
    CHECK(w.status().queue == "team-b");
    CHECK(w.pods().empty());
    run_queued(w);
    CHECK(w.used() == 3);
}

TEST_CASE("[api 5.7] a job that asks for no quota was given none", "[engine]") {
    kueue_world w(ddp(2));
    run_queued(w);
    w.stored_status().admission.emplace().uid = "u";
    w.restart();
    w.settle();
    CHECK_FALSE(w.status().admission);
    check_runs(w, "");
}
