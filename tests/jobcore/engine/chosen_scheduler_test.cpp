// SPDX-License-Identifier: Apache-2.0
//
// Jobs that leave open who schedules their pods (BEHAVIOUR.md 8.15).
#include "engine/jobs.hpp"
#include "jobcore/policy_fields.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

using namespace signalbox;
using namespace signalbox::test;
using core::job_phase;
using core::object_kind;
using core::served;

namespace {

job_builder open_job(job_builder job = ddp(2)) {
    return job.field("scheduler", R"({"auto":{}})");
}

/// On a server that serves the objects of these schedulers alone.
struct open_world : world {
    explicit open_world(
        std::initializer_list<std::string_view> has, const job_builder& job = open_job()
    )
        : world(job) {
        for (const char* name : {"t9kScheduler", "kubernetes", "volcano", "coscheduling"}) {
            served.set(gang_kind_of(name), core::served::no);
        }
        for (const std::string_view name : has) {
            served.set(gang_kind_of(name), core::served::yes);
        }
    }

    std::size_t gangs() const {
        std::size_t sum = 0;
        for (const char* name : {"t9kScheduler", "kubernetes", "volcano", "coscheduling"}) {
            sum += count_children(gang_kind_of(name));
        }
        return sum;
    }
};

bool makes_any(const core::decision& d) {
    return std::ranges::any_of(d.stages, [](const core::stage& s) {
        return std::ranges::any_of(s, [](const core::action& a) {
            return a.what() == core::verb::create;
        });
    });
}

/// Its pods have two priorities, which the scheduler of Kubernetes cannot place as one gang.
job_builder mixed_job() {
    replica master{.type = "master"};
    master.pod_more = R"("priorityClassName":"high")";
    return open_job(job_builder("mnist").replicas(master).replicas("worker", 1));
}

}  // namespace

TEST_CASE(
    "[behaviour 8.15] [api status.scheduler] the first that is served is chosen", "[engine]"
) {
    SECTION("T9k's before all") {
        open_world w({"volcano", "kubernetes", "t9kScheduler"});
        w.settle();
        CHECK(w.status().scheduler == "t9kScheduler");
        CHECK(w.count_children(object_kind::pod_group) == 1);
        CHECK(w.pods().size() == 3);
    }
    SECTION("Kubernetes' own before Volcano") {
        open_world w({"volcano", "kubernetes"});
        w.settle();
        CHECK(w.status().scheduler == "kubernetes");
        CHECK(w.count_children(gang_kind_of("kubernetes")) == 1);
        CHECK(w.gangs() == 1);
    }
    SECTION("none of them") {
        open_world w({"coscheduling"});
        w.start();
        CHECK(w.status().scheduler == "none");
        CHECK(w.gangs() == 0);
        CHECK(w.status().phase == job_phase::running);
    }
}

TEST_CASE("[behaviour 8.15] nothing is chosen before it is known what is served", "[engine]") {
    open_world w({"volcano"});
    w.served.set(gang_kind_of("kubernetes"), served::unknown);
    w.settle();
    CHECK(w.status().scheduler == "auto");
    CHECK(w.status().reason == "WaitingForPodGroup");
    CHECK(w.pods().empty());
    CHECK(w.gangs() == 0);
    CHECK(w.look().wake_up);
    w.served.set(gang_kind_of("kubernetes"), served::no);
    w.settle();
    CHECK(w.status().scheduler == "volcano");
}

TEST_CASE("[behaviour 8.15] a running job keeps what was chosen", "[engine]") {
    open_world w({"kubernetes"});
    w.start();
    w.served.set(object_kind::pod_group, served::yes);
    w.exit("worker", 0, 1);
    w.settle();
    w.finish_deletions();
    w.settle();
    CHECK(w.status().attempt == 2);
    CHECK(w.status().scheduler == "kubernetes");
    CHECK(w.gangs() == 1);
    SECTION("until it is resumed") {
        set_pause(w, true);
        w.settle();
        w.finish_deletions();
        w.settle();
        CHECK(w.gangs() == 0);
        set_pause(w, false);
        w.settle();
        CHECK(w.status().scheduler == "t9kScheduler");
        CHECK(w.count_children(object_kind::pod_group) == 1);
    }
    SECTION("also when its kind is served no more") {
        CHECK(w.live_pods() == 3);
        w.served.set(gang_kind_of("kubernetes"), served::no);
        w.run_all();
        w.settle();
        CHECK(w.status().scheduler == "kubernetes");
        CHECK(w.live_pods() == 3);
    }
}

TEST_CASE("[behaviour 8.15] who cannot take the job is passed over", "[engine]") {
    open_world w({"kubernetes", "volcano"}, mixed_job());
    w.settle();
    CHECK(w.status().scheduler == "volcano");
}

TEST_CASE("[behaviour 8.15] a scheduler that a template names stays", "[engine]") {
    replica worker{.type = "worker", .replicas = 2};
    worker.pod_more = R"("schedulerName":"mine")";
    open_world w({"t9kScheduler", "kubernetes"}, open_job(job_builder("mnist").replicas(worker)));
    w.settle();
    CHECK(w.status().scheduler == "none");
    CHECK(w.pods().size() == 2);
}

TEST_CASE("[behaviour 8.15] the default of the operator", "[engine]") {
    open_world w({"kubernetes", "coscheduling"}, ddp(2));
    SECTION("none") {
        w.settle();
        CHECK(w.status().scheduler.empty());
        CHECK(w.gangs() == 0);
    }
    SECTION("what the server serves") {
        REQUIRE(core::set_default_scheduler(w.rules(), "auto"));
        w.settle();
        CHECK(w.status().scheduler == "kubernetes");
        CHECK(w.gangs() == 1);
    }
    SECTION("one that it names") {
        REQUIRE(core::set_default_scheduler(w.rules(), "coscheduling"));
        w.settle();
        CHECK(w.status().scheduler == "coscheduling");
        CHECK(w.count_children(gang_kind_of("coscheduling")) == 1);
    }
    SECTION("another one changes nothing for a job that has begun") {
        w.start();
        REQUIRE(core::set_default_scheduler(w.rules(), "kubernetes"));
        w.exit("worker", 0, 1);
        w.settle();
        w.finish_deletions();
        w.settle();
        CHECK(w.status().attempt == 2);
        CHECK(w.status().scheduler.empty());
        CHECK(w.gangs() == 0);
    }
    SECTION("not of a job that names its own") {
        REQUIRE(core::set_default_scheduler(w.rules(), "coscheduling"));
        w.edit().field("scheduler", R"({"kubernetes":{}})");
        w.reload();
        w.settle();
        CHECK(w.status().scheduler.empty());
        CHECK(w.count_children(gang_kind_of("kubernetes")) == 1);
    }
}

TEST_CASE("[behaviour 8.15] what can be the default", "[engine]") {
    core::policy rules;
    CHECK(core::set_default_scheduler(rules, "koordinator"));
    CHECK_FALSE(core::set_default_scheduler(rules, "kueue"));
    CHECK_FALSE(core::set_default_scheduler(rules, "nobody"));
    CHECK(rules.default_scheduler == "koordinator");
    CHECK(core::set_default_scheduler(rules, ""));
    CHECK(rules.default_scheduler.empty());
}

TEST_CASE(
    "[behaviour 8.15] [behaviour 8.10] a label that names a queue counts before", "[engine]"
) {
    const std::string text = open_job().json();
    std::string labelled = text;
    const std::string head = R"("metadata":{)";
    labelled.insert(
        labelled.find(head) + head.size(), R"("labels":{"kueue.x-k8s.io/queue-name":"team-a"},)"
    );
    const core::parsed_job job = core::parse_job(labelled);
    CHECK(job.findings.empty());
    REQUIRE(job.spec);
    CHECK(job.spec->scheduler->name == "kueue");
    CHECK(job.spec->scheduler->text("queueName") == "team-a");
    CHECK(core::parse_job(text).spec->scheduler->name == "auto");
}

TEST_CASE("[behaviour 12.16] a job that is not read again makes nothing", "[engine]") {
    const auto job = core::read_job(open_job().json());
    REQUIRE(job);
    core::job_object held = *job;
    core::capabilities served;
    served.set(object_kind::pod_group, core::served::yes);
    core::observed seen{{}, {}, {}, {}, served};
    for (int i = 0; i < 4; ++i) {
        const auto d = core::decide(held, seen, {}, story_start);
        CHECK_FALSE(makes_any(d));
        held.status = d.status.value_or(held.status);
    }
    CHECK(held.status.scheduler == "t9kScheduler");
    const auto again = core::read_again(open_job().json(), held);
    REQUIRE(again);
    CHECK(makes_any(core::decide(*again, seen, {}, story_start)));
}
