// SPDX-License-Identifier: Apache-2.0
//
// Which phase goes before which (BEHAVIOUR.md 4), conditions and events over a job's life.
#include "engine/jobs.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <set>

using namespace signalbox::core;
using signalbox::test::at;
using signalbox::test::c10d;
using signalbox::test::colossalai;
using signalbox::test::ddp;
using signalbox::test::deepspeed;
using signalbox::test::world;

namespace {

bool is_pod_of(const action& a, std::string_view part) {
    return a.kind == object_kind::pod && a.what() == verb::create &&
           a.name.find(part) != std::string::npos;
}

std::vector<std::string> condition_types(const job_status& s) {
    std::vector<std::string> types;
    for (const auto& c : s.conditions) {
        types.push_back(c.type);
    }
    return types;
}

}  // namespace

TEST_CASE("[behaviour 2.4] Initialized once every pod was accepted, and it stays", "[engine]") {
    world w(ddp());
    w.gate = [](const action& a) { return !is_pod_of(a, "-worker-1"); };
    for (int i = 0; i < 5; ++i) {
        w.pass();
    }
    REQUIRE(w.pods().size() == 2);
    CHECK(w.condition("Initialized") == "False/NotFinished");
    w.gate = nullptr;
    w.settle();
    CHECK(w.condition("Initialized") == "True/ReplicasAccepted");
    w.run_all();
    w.exit("worker", 0, 1);
    w.gate = [](const action& a) { return !is_pod_of(a, "-worker-1"); };
    for (int i = 0; i < 5; ++i) {
        w.pass();
    }
    REQUIRE(w.pods().size() == 2);
    CHECK(w.condition("Initialized") == "True/ReplicasAccepted");
}

TEST_CASE("[behaviour 2.4] Initialized does not wait for a second stage", "[engine]") {
    world w(colossalai());
    w.settle();
    REQUIRE(w.find("launcher", 0) == nullptr);
    CHECK(w.condition("Initialized") == "True/ReplicasAccepted");
}

TEST_CASE("[behaviour 4.4] a pause goes before a deadline and a failed worker", "[engine]") {
    world w(ddp(2, "Never").run_policy("\"activeDeadlineSeconds\":5"));
    w.start();
    w.exit("worker", 0, 1);
    w.wait(seconds{5});
    set_pause(w, true);
    w.settle();
    CHECK(w.status().phase == job_phase::paused);
}

TEST_CASE("[behaviour 4.5] the deadline goes before a failed worker", "[engine]") {
    world w(ddp(2, "Never").run_policy("\"activeDeadlineSeconds\":5"));
    w.start();
    w.wait(seconds{5});
    w.exit("worker", 0, 1);
    w.settle();
    CHECK(w.status().phase == job_phase::failed);
    CHECK(w.status().reason == "DeadlineExceeded");
    CHECK(w.status().backoff_count == 0);
}

TEST_CASE(
    "[behaviour 4.6] a worker that may not be restarted fails the job, or shows", "[engine]"
) {
    const bool master_decides = GENERATE(true, false);
    auto job = ddp(2, "Never");
    if (master_decides) {
        job.run_policy("\"failurePolicy\":\"Master\"");
    }
    world w(job);
    w.start();
    w.exit("worker", 0, 1);
    w.settle();
    CHECK(w.condition("ReplicaFailure") == "True/ReplicaFailed");
    CHECK(w.status().phase == (master_decides ? job_phase::running : job_phase::failed));
    CHECK(w.condition("Failed") == (master_decides ? "" : "True/ErrorInPod"));
}

TEST_CASE("[behaviour 4.7] Restarting until the new attempt is complete", "[engine]") {
    world w(ddp());
    w.start();
    w.exit("worker", 0, 1);
    w.settle();
    REQUIRE(w.pods().size() == 3);
    w.run(w.pod("master", 0));
    w.run(w.pod("worker", 0));
    w.settle();
    CHECK(w.status().phase == job_phase::pending);
    CHECK(w.status().reason == "Restarting");
    // It goes before an unknown master.
    w.pod("master", 0).phase = pod_phase::unknown;
    w.settle();
    CHECK(w.status().phase == job_phase::pending);
    w.pod("master", 0).phase = pod_phase::running;
    w.run(w.pod("worker", 1));
    w.settle();
    CHECK(w.status().phase == job_phase::running);
    // From then on the status says Running for this attempt: a container that waits again changes
    // nothing.
    w.pod("worker", 1).containers.at(0).state = container_state::waiting;
    w.settle();
    CHECK(w.status().phase == job_phase::running);
}

TEST_CASE("[behaviour 4.8] Unknown is what the master's pod is, and it alone", "[engine]") {
    world w(ddp());
    w.start();
    w.pod("worker", 0).phase = pod_phase::unknown;
    w.settle();
    CHECK(w.status().phase == job_phase::running);
    w.pod("master", 0).phase = pod_phase::unknown;
    w.settle();
    CHECK(w.status().phase == job_phase::unknown);
    CHECK(w.condition("Running") == "False/MasterUnknown");
    w.pod("master", 0).phase = pod_phase::running;
    w.settle();
    CHECK(w.status().phase == job_phase::running);
}

TEST_CASE("[behaviour 4.10] Running stays while a replica is replaced", "[engine]") {
    world w(c10d());
    w.start();
    w.wait(seconds{100});
    w.exit("node", 1, 137);
    w.settle();
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.status().ready == "2/3");
    CHECK(w.condition("Running") == "True/ReplicasRunning");
    CHECK(w.count_events("Running") == 1);
}

TEST_CASE("[behaviour 4.11] Resuming until all pods run again", "[engine]") {
    world w(ddp());
    w.start();
    set_pause(w, true);
    w.settle();
    set_pause(w, false);
    w.settle();
    CHECK(w.status().phase == job_phase::resuming);
    w.run(w.pod("master", 0));
    w.run(w.pod("worker", 0));
    w.settle();
    CHECK(w.status().phase == job_phase::resuming);
    w.run_all();
    CHECK(w.status().phase == job_phase::running);
}

TEST_CASE(
    "[behaviour 4.13] [behaviour I12] [api status.conditions] their order and values", "[engine]"
) {
    world w(ddp());
    w.settle();
    using types = std::vector<std::string>;
    CHECK(
        condition_types(w.status()) ==
        types{"Initialized", "Running", "ReplicaFailure", "Completed"}
    );
    CHECK(w.condition("Running") == "False/CreatingPods");
    CHECK(w.condition("ReplicaFailure") == "False/NoFailure");
    CHECK(w.condition("Completed") == "False/NotFinished");
    CHECK(find_condition(w.status(), "Running")->last_transition == at(0));
    w.wait(seconds{10});
    w.run_all();
    CHECK(find_condition(w.status(), "Running")->last_transition == at(10));
    CHECK(find_condition(w.status(), "Completed")->last_transition == at(0));
    set_pause(w, true);
    w.settle();
    CHECK(condition_types(w.status()).back() == "Paused");
    CHECK(w.condition("Paused") == "True/Paused");
    CHECK(w.condition("Running") == "False/Paused");
    set_pause(w, false);
    w.start();
    w.exit("master", 0, 0);
    w.settle();
    CHECK(
        condition_types(w.status()) ==
        types{
            "Initialized",
            "Running",
            "ReplicaFailure",
            "Completed",
            "Failed",
            "Succeeded",
            "Paused"}
    );
    CHECK(w.condition("Running") == "False/Succeeded");
    CHECK(w.condition("Completed") == "True/Succeeded");
    CHECK(w.condition("Failed") == "False/Succeeded");
    CHECK(w.condition("Paused") == "False/Succeeded");
}

TEST_CASE("[api status.phase] each phase is where a story puts it", "[engine]") {
    world w(ddp());
    std::vector<std::string> phases;
    const auto note = [&] {
        w.settle();
        phases.emplace_back(to_string(w.status().phase));
    };
    note();
    w.run_all();
    note();
    w.pod("master", 0).phase = pod_phase::unknown;
    note();
    w.pod("master", 0).phase = pod_phase::running;
    set_pause(w, true);
    note();
    set_pause(w, false);
    note();
    w.run_all();
    w.exit("master", 0, 0);
    note();
    CHECK(
        phases ==
        std::vector<std::string>{"Pending", "Running", "Unknown", "Paused", "Resuming", "Succeeded"}
    );
    world failed(ddp(2, "Never"));
    failed.start();
    failed.exit("master", 0, 1);
    failed.settle();
    CHECK(to_string(failed.status().phase) == "Failed");
    for (const std::string_view phase :
         {"Pending", "Running", "Paused", "Resuming", "Succeeded", "Failed", "Unknown"}) {
        CHECK(to_string(parse_job_phase(phase)) == phase);
    }
}

TEST_CASE("[behaviour 10.3] another budget counts at the next incident", "[engine]") {
    world w(ddp().run_policy("\"backoffLimit\":5"));
    w.start();
    w.exit("worker", 0, 1);
    w.settle();
    w.run_all();
    REQUIRE(w.status().backoff_count == 1);
    w.edit().run_policy("\"backoffLimit\":1");
    w.reload();
    w.settle();
    CHECK(w.status().phase == job_phase::running);
    const bool raised = GENERATE(true, false);
    if (raised) {
        w.edit().run_policy("\"backoffLimit\":2");
        w.reload();
    }
    w.exit("worker", 0, 1);
    w.settle();
    CHECK((w.status().phase == job_phase::failed) != raised);
    CHECK(w.status().backoff_count == (raised ? 2 : 1));
}

TEST_CASE(
    "[behaviour 10.3] [behaviour 6.5] a finished job heeds clean-up and time to live only",
    "[engine]"
) {
    world w(ddp().run_policy("\"cleanUpPolicy\":\"None\""));
    w.start();
    w.exit("master", 0, 0);
    w.settle();
    REQUIRE(w.pods().size() == 3);
    w.edit().run_policy(R"("cleanUpPolicy":"None","activeDeadlineSeconds":1,"backoffLimit":9)");
    w.edit().pause();
    w.reload();
    w.wait(seconds{10});
    w.settle();
    CHECK(w.status().phase == job_phase::succeeded);
    CHECK(w.status().completion_time == at(0));
    CHECK(w.pods().size() == 3);
    CHECK(w.condition("Paused").empty());
    w.edit().run_policy("\"cleanUpPolicy\":\"All\"");
    w.reload();
    w.settle();
    w.wake();
    CHECK(w.pods().empty());
    w.edit().run_policy("\"ttlSecondsAfterFinished\":5");
    w.reload();
    w.pass();
    CHECK(w.job_deleted);
}

TEST_CASE("[api restartPolicy] ExitCode knows the numbers of DeepSpeed's launcher", "[engine]") {
    struct row {
        int code;
        bool restarts;
    };
    const auto r = GENERATE(
        row{254, true},
        row{247, true},
        row{246, true},
        row{241, true},
        row{137, true},
        row{245, false},
        row{255, false},
        row{1, false}
    );
    CAPTURE(r.code);
    world w(deepspeed(2, R"(,"restartPolicy":"ExitCode")"));
    w.start();
    w.exit("worker", 0, r.code);
    w.settle();
    w.wait(seconds{3});
    w.settle();
    CHECK((w.status().phase == job_phase::failed) != r.restarts);
    CHECK(w.status().backoff_count == (r.restarts ? 1 : 0));
}

TEST_CASE("[behaviour 11.1] the events of a life with one failure and one pause", "[engine]") {
    world w(ddp().field("torchrunConfig", R"({"enable":false})"));
    w.start();
    w.exit("worker", 0, 1);
    w.settle();
    w.run_all();
    set_pause(w, true);
    w.settle();
    set_pause(w, false);
    w.start();
    w.exit("master", 0, 0);
    w.settle();
    w.wake();
    std::map<std::string, std::pair<std::size_t, bool>> seen;
    for (const auto& e : w.events) {
        ++seen[e.reason].first;
        seen[e.reason].second = e.warning;
    }
    using expected = std::map<std::string, std::pair<std::size_t, bool>>;
    CHECK(
        seen ==
        expected{
            {"Created", {1, false}},
            {"DeprecatedField", {1, true}},
            {"Start", {2, false}},
            {"NewReplica", {9, false}},
            {"Running", {3, false}},
            {"ReplicaFailed", {1, true}},
            {"Restarting", {1, false}},
            {"Paused", {1, false}},
            {"Resumed", {1, false}},
            {"Succeeded", {1, false}},
            {"CleanedUp", {1, false}}}
    );
}

TEST_CASE("[behaviour 11.1] new pods are one event each, above eight one for all", "[engine]") {
    const int workers = GENERATE(7, 8);
    world w(ddp(workers));
    w.settle();
    CHECK(w.count_events("NewReplica") == (workers == 7 ? 8U : 1U));
}

TEST_CASE("[behaviour 11.2] one event per fact, short, and the same for the same", "[engine]") {
    world w(ddp());
    w.start();
    for (int i = 0; i < 3; ++i) {
        w.wait(seconds{1000});
        w.exit("worker", 0, 1, std::string(4000, 'x') + " end");
        w.settle();
        w.settle();
        w.run_all();
    }
    CHECK(w.count_events("ReplicaFailed") == 3);
    std::set<std::string> texts;
    for (const auto& e : w.events) {
        CHECK(e.message.size() < 1024);
        if (e.reason == "ReplicaFailed") {
            texts.insert(e.message);
        }
    }
    REQUIRE(texts.size() == 1);
    CHECK(texts.begin()->find(" end") != std::string::npos);
}
