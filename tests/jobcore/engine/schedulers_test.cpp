// SPDX-License-Identifier: Apache-2.0
//
// The life of jobs under schedulers that hold gangs, let pods in, or say why they wait
// (BEHAVIOUR.md 8).
#include "engine/facts/inputs.hpp"
#include "engine/jobs.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

using namespace signalbox;
using namespace signalbox::test;
using core::job_phase;
using core::object_kind;
using core::served;

namespace {

/// A job of that scheduler, on a server that has it.
struct scheduled : world {
    explicit scheduled(const std::string& scheduler, job_builder job = ddp(2))
        : world(job.field("scheduler", "{\"" + scheduler + "\":{}}")),
          kind(gang_kind_of(scheduler)) {
        world::served.set(kind, served::yes);
    }

    /// The scheduler writes this status, and `spec.priority`.
    void say(const std::string& status, int priority = 0) {
        child_of(kind)->gang = core::decode_child(
                                   kind,
                                   R"({"metadata":{"name":"g","uid":"u"},"spec":{"priority":)" +
                                       std::to_string(priority) + R"(},"status":)" + status + "}"
        )
                                   ->gang;
        settle();
    }

    std::string waits_for() const {
        const core::condition* running = core::find_condition(status(), "Running");
        return running == nullptr ? "" : running->message;
    }

    object_kind kind;
};

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != text.npos;
}

constexpr const char* unschedulable =
    R"({"conditions":[{"type":"PodGroupInitiallyScheduled","status":"False",)"
    R"("reason":"Unschedulable","message":"minCount (3) cannot be satisfied: 1 scheduled"}]})";

}  // namespace

TEST_CASE("[behaviour 8.4] each scheduler waits for its own kind", "[engine]") {
    for (const std::string scheduler : {"kubernetes", "coscheduling", "volcano"}) {
        INFO(scheduler);
        scheduled w(scheduler);
        w.served.set(w.kind, served::no);
        w.settle();
        CHECK(w.status().reason == "WaitingForPodGroup");
        CHECK(has(w.waits_for(), core::api_version_of(w.kind)));
        CHECK(w.pods().empty());
        w.served.set(w.kind, served::yes);
        w.settle();
        CHECK(w.count_children(w.kind) == 1);
        CHECK(w.count_children(object_kind::pod_group) == 0);
    }
}

TEST_CASE("[behaviour 8.5] what a PodGroup of Kubernetes says while pods wait", "[engine]") {
    scheduled w("kubernetes");
    w.settle();
    CHECK(w.pods().size() == 3);
    w.say(unschedulable);
    CHECK(w.status().phase == job_phase::pending);
    CHECK(w.status().reason == "WaitingForGang");
    const std::string group = w.child_of(w.kind)->name;
    CHECK(
        w.waits_for() ==
        "PodGroup " + group + ": Unschedulable: minCount (3) cannot be satisfied: 1 scheduled"
    );
    w.run_all();
    w.settle();
    CHECK(w.status().phase == job_phase::running);
    // It stays as it was at the first start, whatever pods do later.
    w.exit("worker", 0, 1);
    w.settle();
    w.finish_deletions();
    w.settle();
    CHECK(w.status().attempt == 2);
    CHECK(w.pods().size() == 3);
    CHECK(w.child_of(w.kind)->name == group);
}

TEST_CASE("[behaviour 8.9] a group that is held without a word", "[engine]") {
    scheduled w("kubernetes");
    w.settle();
    w.say("{}", 10);
    core::pod_record& worker = w.pod("worker", 1);
    for (core::pod_record& pod : w.pods()) {
        pod.priority = 10;
    }
    SECTION("by a priority") {
        worker.priority = 5;
        w.settle();
        CHECK(w.waits_for() == "held: pod " + worker.name + " has priority 5, the group 10");
        worker.priority = 10;
    }
    SECTION("by a gate") {
        worker.gates = "example.com/quota";
        w.settle();
        CHECK(has(w.waits_for(), "held: pod " + worker.name + " waits at scheduling gates"));
        worker.gates = "";
    }
    SECTION("by the number of pods") {
        worker.phase = core::pod_phase::unknown;
        w.settle();
        CHECK(w.waits_for() == "held: 2 of the 3 pods that have to start together are there");
        worker.phase = core::pod_phase::pending;
    }
    w.settle();
    w.run_all();
    w.settle();
    CHECK(w.status().phase == job_phase::running);
}

TEST_CASE("[behaviour 8.9] a pod at a gate holds the gang of a plugin too", "[engine]") {
    for (const std::string scheduler : {"coscheduling", "koordinator"}) {
        INFO(scheduler);
        world w(ddp(2).field("scheduler", "{\"" + scheduler + "\":{}}"));
        w.served.set(gang_kind_of("coscheduling"), served::yes);
        w.settle();
        core::pod_record& worker = w.pod("worker", 1);
        worker.gates = "example.com/quota";
        w.settle();
        CHECK(has(w.condition("Running"), "WaitingForGang"));
        const auto* running = core::find_condition(w.status(), "Running");
        CHECK(has(running->message, "held: pod " + worker.name + " waits at scheduling gates"));
    }
}

TEST_CASE("[behaviour 8.6] completed members lower the minimum before a pod is made", "[engine]") {
    scheduled w("kubernetes", ddp(2).run_policy(R"("restartScope":"Replica")"));
    w.start();
    std::vector<std::string> done;
    w.gate = [&](const core::action& a) {
        const bool patched = a.what() == core::verb::patch && a.kind == w.kind;
        if (patched) {
            const std::string body(a.body());
            done.push_back(body.substr(body.find("minCount"), 11));
        } else if (a.kind == object_kind::pod && a.what() == core::verb::create) {
            done.emplace_back("pod");
        }
        return true;
    };
    w.exit("worker", 1, 0);
    w.settle();
    CHECK(done == std::vector<std::string>{"minCount\":2"});
    w.exit("worker", 0, 1);
    w.settle();
    w.finish_deletions();
    w.settle();
    CHECK(done == std::vector<std::string>{"minCount\":2", "pod"});
    CHECK(w.status().backoff_count == 1);
}

TEST_CASE("[behaviour 8.6] the next attempt counts all members again", "[engine]") {
    scheduled w("kubernetes");
    w.start();
    w.exit("worker", 1, 0);
    w.settle();
    const auto least = [&] {
        const std::string text = core::preview_object(
            w.plan(),
            w.plan().objects.front(),
            1,
            core::engine::render_options_of(w.status(), w.plan())
        );
        return text.substr(text.find("minCount"), 11);
    };
    CHECK(least() == "minCount\":2");
    std::vector<object_kind> order;
    w.gate = [&](const core::action& a) {
        if (a.what() != core::verb::remove && a.what() != core::verb::confirm) {
            order.push_back(a.kind);
        }
        return true;
    };
    w.exit("worker", 0, 1);
    w.settle();
    w.finish_deletions();
    w.settle();
    CHECK(w.status().attempt == 2);
    CHECK(least() == "minCount\":3");
    const auto group = std::ranges::find(order, w.kind);
    const auto pod = std::ranges::find(order, object_kind::pod);
    REQUIRE(group != order.end());
    REQUIRE(pod != order.end());
    CHECK(group < pod);
}

TEST_CASE("[behaviour 8.3] a group that is still being deleted is waited for", "[engine]") {
    scheduled w("kubernetes");
    w.start();
    set_pause(w, true);
    w.settle();
    CHECK(w.count_children(w.kind) == 0);
    w.finish_deletions();
    w.settle();
    set_pause(w, false);
    w.settle();
    REQUIRE(w.count_children(w.kind) == 1);
    w.child_of(w.kind)->deleting = true;
    w.pods().clear();
    const core::decision d = w.look();
    CHECK(std::ranges::none_of(d.stages, [](const core::stage& s) {
        return std::ranges::any_of(s, [](const core::action& a) {
            return a.what() == core::verb::create;
        });
    }));
}

TEST_CASE("[behaviour 8.3] a resume with another scheduler leaves none of the former", "[engine]") {
    scheduled w("kubernetes");
    w.served.set(gang_kind_of("coscheduling"), served::yes);
    w.start();
    w.slow_deletes = true;
    set_pause(w, true);
    w.pass();  // the pause is on record, and nothing has gone yet
    w.edit().field("scheduler", R"({"coscheduling":{}})");
    set_pause(w, false);
    w.settle();
    w.finish_deletions();
    w.settle();
    CHECK(w.count_children(w.kind) == 0);
    CHECK(w.count_children(gang_kind_of("coscheduling")) == 1);
    CHECK(w.pods().size() == 3);
}

TEST_CASE(
    "[behaviour 8.3] a group that somebody deleted places pods until the last is gone", "[engine]"
) {
    scheduled w("kubernetes", ddp(2).run_policy(R"("restartScope":"Replica")"));
    w.start();
    w.child_of(w.kind)->deleting = true;
    w.exit("worker", 0, 1);
    w.settle();
    w.finish_deletions();
    w.settle();
    CHECK(w.pods().size() == 3);
    w.run_all();
    w.settle();
    CHECK(w.status().phase == job_phase::running);
    // Others are waited for.
    scheduled other("coscheduling", ddp(2).run_policy(R"("restartScope":"Replica")"));
    other.start();
    other.child_of(other.kind)->deleting = true;
    other.exit("worker", 0, 1);
    other.settle();
    other.finish_deletions();
    other.settle();
    CHECK(other.pods().size() == 2);
}

TEST_CASE("[behaviour 8.5] [behaviour 8.8] Volcano: pods after Inqueue", "[engine]") {
    scheduled w("volcano");
    w.settle();
    CHECK(w.count_children(w.kind) == 1);
    CHECK(w.pods().empty());
    CHECK(w.status().reason == "WaitingForGang");
    CHECK_FALSE(w.status().start_time);
    w.say(R"({"phase":"Pending"})");
    CHECK(w.pods().empty());
    CHECK(has(w.waits_for(), "is not ready: phase Pending"));
    w.say(R"({"phase":"Inqueue"})");
    CHECK(w.pods().size() == 3);
    w.run_all();
    w.settle();
    CHECK(w.status().phase == job_phase::running);
    // Deleted by hand, and made again: pods that run stay.
    w.delete_child(w.kind);
    w.settle();
    CHECK(w.count_children(w.kind) == 1);
    CHECK(w.pods().size() == 3);
    CHECK(w.status().phase == job_phase::running);
}

TEST_CASE("[behaviour 8.8] Koordinator needs no object", "[engine]") {
    world w(ddp(2).field("scheduler", R"({"koordinator":{}})"));
    w.settle();
    CHECK(w.pods().size() == 3);
    CHECK(std::ranges::none_of(w.children(), [](const core::child_record& c) {
        return c.kind->use == core::kind_use::gang;
    }));
    w.run_all();
    w.settle();
    CHECK(w.status().phase == job_phase::running);
    set_pause(w, true);
    w.settle();
    w.finish_deletions();
    w.settle();
    CHECK(w.status().phase == job_phase::paused);
}
