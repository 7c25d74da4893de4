// SPDX-License-Identifier: Apache-2.0
//
// What holds a job up: names, stuck pods, refusals, deadlines, pods that cannot start.
#include "engine/jobs.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::core;
using signalbox::test::at;
using signalbox::test::c10d;
using signalbox::test::ddp;
using signalbox::test::job_builder;
using signalbox::test::world;

TEST_CASE("[behaviour 1.9] a pod that lost its labels is an older one: replaced", "[engine]") {
    world w(c10d());
    w.start();
    w.wait(seconds{100});
    auto& pod = w.pod("node", 1);
    const std::string uid = pod.uid;
    pod.labels_complete = false;
    pod.type = "";
    pod.index = -1;
    pod.attempt = 0;
    w.settle();
    CHECK(w.pods().size() == 3);
    CHECK(w.pod("node", 1).uid != uid);
    CHECK(w.status().backoff_count == 0);
    CHECK(w.status().restarts.disruptions == 1);
}

TEST_CASE(
    "[behaviour 1.7] children of an earlier job of the same name are not touched", "[engine]"
) {
    world w(ddp());
    w.start();
    auto foreign = w.pod("worker", 0);
    foreign.owner_uid = "somebody-else";
    foreign.uid = "foreign";
    w.pods().push_back(foreign);
    w.settle();
    CHECK(std::ranges::count(w.pods(), "foreign", &pod_record::uid) == 1);
    CHECK(w.status().aggregate->running == 3);
}

TEST_CASE("[behaviour 1.4] of two pods on one index the older stays", "[engine]") {
    world w(ddp());
    w.start();
    auto twin = w.pod("worker", 0);
    twin.uid = "twin";
    twin.name += "-r9";
    const bool renamed = GENERATE(true, false);
    if (!renamed) {
        twin.name = w.pod("worker", 0).name;
    }
    twin.creation = at(5);
    w.pods().push_back(twin);
    w.settle();
    CHECK(w.pods().size() == 3);
    // The one with the suffix is kept before the older one.
    CHECK(std::ranges::count(w.pods(), "twin", &pod_record::uid) == (renamed ? 1 : 0));
}

TEST_CASE(
    "[behaviour 5.12] [behaviour I15] the deadline counts from the recorded start", "[engine]"
) {
    world w(ddp().run_policy("\"activeDeadlineSeconds\":5"));
    w.start();
    REQUIRE(w.status().start_time == at(0));
    REQUIRE(w.status().next_transition);
    CHECK(*w.status().next_transition == transition{at(5), "Deadline"});
    w.wait(milliseconds{4999});
    w.settle();
    CHECK(w.status().phase == job_phase::running);
    w.wait(milliseconds{1});
    w.settle();
    CHECK(w.status().phase == job_phase::failed);
    CHECK(w.status().reason == "DeadlineExceeded");
    CHECK(w.pods().empty());
}

TEST_CASE("[behaviour 5.12] the deadline deletes running pods under every policy", "[engine]") {
    world w(ddp().run_policy("\"activeDeadlineSeconds\":5,\"cleanUpPolicy\":\"None\""));
    w.start();
    w.exit("worker", 0, 0);
    w.settle();
    w.wait(seconds{5});
    w.settle();
    CHECK(w.pods().size() == 1);
    CHECK(w.pods().front().type == "worker");
}

TEST_CASE("[behaviour 5.12] success of the master in the same look wins", "[engine]") {
    world w(ddp().run_policy("\"activeDeadlineSeconds\":5"));
    w.start();
    w.wait(seconds{5});
    w.exit("master", 0, 0);
    w.settle();
    CHECK(w.status().phase == job_phase::succeeded);
}

TEST_CASE("[behaviour 5.12] a deadline beyond all time never passes", "[engine]") {
    world w(ddp().run_policy("\"activeDeadlineSeconds\":9223372036854775807"));
    w.start();
    CHECK(w.status().phase == job_phase::running);
}

TEST_CASE(
    "[behaviour 1.3] a stuck pod: recorded, labelled gone, then replaced by -r1", "[engine]"
) {
    world w(ddp());
    w.start();
    w.slow_deletes = true;
    w.wait(seconds{70});
    auto& stuck = w.pod("worker", 1);
    const std::string stuck_uid = stuck.uid;
    w.ask_deletion(stuck, 0);
    w.settle();
    w.pods().remove_if([&](const pod_record& p) { return p.uid != stuck_uid; });
    w.settle();
    CHECK(w.pods().size() == 1);
    w.wait(seconds{60});
    w.settle();
    CHECK(w.pods().size() == 1);
    w.wait(milliseconds{1});
    const auto d = w.look();
    REQUIRE(d.status);
    CHECK(d.stages.empty());
    CHECK(d.status->restarts.renamed == std::vector<renamed_index>{{"worker", 1, 1}});
    CHECK(d.status->tasks[1].replicas[1].name.ends_with("-worker-1-r1"));
    w.settle();
    CHECK(w.pods().size() == 4);
    CHECK(w.pod("worker", 1).name.ends_with("-worker-1-r1"));
    CHECK(w.pods().front().attempt == gone_attempt);
    w.pods().remove_if([&](const pod_record& p) { return p.uid == stuck_uid; });
    w.settle();
    CHECK(w.pods().size() == 3);
    w.run_all();
    CHECK(w.status().phase == job_phase::running);
}

TEST_CASE("[api annotation stuck-after] 0 never replaces a stuck pod", "[engine]") {
    world w(ddp().annotation("batch.tensorstack.dev/stuck-after", "0"));
    w.start();
    w.slow_deletes = true;
    w.ask_deletion(w.pod("worker", 1), 0);
    w.settle();
    w.pods().remove_if([&](const pod_record& p) { return p.index != 1; });
    w.wait(seconds{3600});
    w.settle();
    CHECK(w.pods().size() == 1);
    CHECK(w.status().restarts.renames == 0);
}

TEST_CASE("[behaviour 2.8] quota holds all pods, 5 s doubling; one event", "[engine]") {
    world w(ddp());
    w.gate = [&](const action& a) {
        if (a.kind != object_kind::pod || a.what() != verb::create) {
            return true;
        }
        auto it = std::ranges::find(w.refusals, a.name, &refusal::name);
        if (it == w.refusals.end()) {
            refusal fresh = refusal_of(a, w.now());
            fresh.http_code = 403;
            fresh.message = "pods is forbidden: exceeded quota: q";
            fresh.count = 0;
            it = w.refusals.insert(w.refusals.end(), fresh);
        }
        ++it->count;
        it->last = w.now();
        return false;
    };
    w.pass();
    w.pass();
    w.pass();
    REQUIRE(w.refusals.size() == 3);
    for (const int delay : {5, 10, 20}) {
        const auto d = w.look();
        REQUIRE(d.wake_up);
        CHECK(*d.wake_up == w.now() + seconds{delay});
        w.pass();
        CHECK(w.status().reason == "QuotaExceeded");
        w.to(*d.wake_up);
        w.pass();
    }
    CHECK(w.count_events("QuotaExceeded") == 1);
    CHECK(find_condition(w.status(), "Running")->message.find("QuotaExceeded: ") == 0);
    CHECK(w.status().phase == job_phase::pending);
    CHECK(w.status().backoff_count == 0);
    w.gate = nullptr;
    w.refusals.clear();
    w.settle();
    CHECK(w.pods().size() == 3);
}

TEST_CASE("[behaviour 2.8] a pod refused for good fails a job that never had one", "[engine]") {
    world w(ddp());
    w.pass();
    w.pass();
    const std::string name = pod_name(w.plan(), {0, 0, 1, 0, 0});
    w.refusals.push_back(
        {object_kind::pod,
         name,
         1,
         0,
         422,
         "Invalid",
         "spec.containers[0].image: Required",
         false,
         false,
         1,
         w.now(),
         w.now()}
    );
    w.settle();
    CHECK(w.status().phase == job_phase::failed);
    CHECK(w.status().reason == "PodRejected");
    const auto* c = find_condition(w.status(), "Failed");
    REQUIRE(c != nullptr);
    CHECK(c->message.find("spec.containers[0].image: Required") != std::string::npos);
}

TEST_CASE("[behaviour 2.8] later a refused pod is a counted failure of its replica", "[engine]") {
    world w(ddp());
    w.start();
    w.exit("worker", 0, 1);
    w.settle();
    REQUIRE(w.status().attempt == 2);
    w.vanish("worker", 0);
    w.status().restarts.seen.clear();
    const std::string name = pod_name(w.plan(), {1, 0, 2, 0, 0});
    refusal r{
        object_kind::pod, name, 1, 0, 403, "Forbidden", "denied", false, false, 1, at(0), at(0)};
    w.refusals.push_back(r);
    CHECK_FALSE(w.look().status->backoff_count == 2);  // of an older attempt: counts no more
    w.refusals.back().attempt = 2;
    REQUIRE(w.look().status);
    CHECK(w.look().status->backoff_count == 2);
    CHECK(w.look().status->restarts.last->cause == "PodRejected");
}

namespace {

/// The server refuses every pod for good from now on. What is tried again is so soon.
void refuse_pods(world& w) {
    w.rules().name_retry = seconds{1};
    w.gate = [&w](const action& a) {
        if (a.kind != object_kind::pod || a.what() != verb::create) {
            return true;
        }
        auto it =
            std::ranges::find_if(w.refusals, [&](const refusal& r) { return is_refusal_of(r, a); });
        if (it == w.refusals.end()) {
            it = w.refusals.insert(w.refusals.end(), refusal_of(a, w.now()));
            it->http_code = 422;
            it->count = 0;
        }
        ++it->count;
        it->last = w.now();
        return false;
    };
}

/// A node vanishes after a long time, and that is recorded.
void lose_node_1(world& w) {
    w.start();
    w.wait(seconds{1000});
    w.vanish("node", 1);
    w.pass();
    w.pass();
}

/// How often the one pod that is refused was asked for.
int tries(const world& w) {
    return w.refusals.size() == 1 ? w.refusals.front().count : -1;
}

}  // namespace

TEST_CASE("[behaviour 2.8] [behaviour 5.5] [behaviour I18] a pod refused for good waits for others"
) {
    world w(job_builder("mnist")
                .replicas("master", 1)
                .replicas("worker", 1, "Never")
                .run_policy(R"("restartScope":"Replica")"));
    w.start();
    w.wait(seconds{1000});
    w.vanish("worker", 0);
    refuse_pods(w);
    w.settle();
    // The master might fail yet, and its policy allow the restart.
    CHECK(w.status().phase == job_phase::running);
    CHECK(tries(w) == 1);
    const auto d = w.look();
    REQUIRE(d.wake_up);
    CHECK(*d.wake_up == w.now() + w.rules().first_failure_window + seconds{1});
    w.wake();
    CHECK(w.status().reason == "ErrorInPod");
}

TEST_CASE("[behaviour 2.8] [behaviour 5.6] a pod refused for good waits while an exit settles") {
    world w(c10d());
    lose_node_1(w);
    refuse_pods(w);
    w.exit("node", 2, 1);
    w.settle();
    REQUIRE(w.status().restarts.settling);
    CHECK(tries(w) == 1);
    CHECK(*w.look().wake_up == w.now() + w.rules().settle);
}

TEST_CASE("[behaviour 2.8] [behaviour 5.3] a pod refused for good waits for an absence") {
    world w(c10d());
    lose_node_1(w);
    REQUIRE(w.status().restarts.disruptions == 1);
    refuse_pods(w);
    w.slow_deletes = true;
    w.pod("node", 2).round = 5;  // somebody did that: an older pod, which holds the name
    w.settle();
    CHECK(w.pod("node", 2).deletion);
    CHECK(tries(w) == 1);
    CHECK(*w.look().wake_up == w.now() + w.rules().name_retry);
}

TEST_CASE("[behaviour 1.8] a foreign object of our name: waits, 10 s doubling", "[engine]") {
    world w(ddp());
    w.pass();
    const std::string name = object_name(w.plan().objects.at(0), 1);
    w.refusals.push_back(
        {object_kind::service, name, 1, 0, 409, "AlreadyExists", "", true, false, 2, at(0), at(0)}
    );
    const auto d = w.look();
    REQUIRE(d.status);
    CHECK(d.status->reason == "NameConflict");
    CHECK_FALSE(d.status->start_time);
    REQUIRE(d.wake_up);
    CHECK(*d.wake_up == at(20));
    w.pass();
    CHECK(w.count_events("NameConflict") == 1);
    w.to(at(20));
    w.refusals.clear();
    w.settle();
    CHECK(w.pods().size() == 3);
}

TEST_CASE("[behaviour 4.13] a replica whose image cannot be had shows, and holds", "[engine]") {
    world w(ddp());
    w.settle();
    w.pod("worker", 0).containers.at(0).reason = "ImagePullBackOff";
    w.settle();
    CHECK(w.condition("ReplicaFailure") == "True/ReplicaCannotStart");
    CHECK(w.status().phase == job_phase::pending);
    w.run_all();
    CHECK(w.condition("ReplicaFailure") == "False/NoFailure");
}

TEST_CASE("[behaviour 4.12] Unschedulable is a reason of waiting, no failure", "[engine]") {
    world w(ddp());
    w.settle();
    w.pod("worker", 0).unschedulable = true;
    w.settle();
    CHECK(w.status().reason == "Unschedulable");
    CHECK(w.condition("ReplicaFailure") == "False/NoFailure");
    const auto message = [&] { return find_condition(w.status(), "Running")->message; };
    CHECK(message() == "pod " + w.pod("worker", 0).name + " cannot be scheduled");
    w.pod("worker", 0).scheduler_message = "0/4 nodes are available:\n4 Insufficient gpu.";
    w.settle();
    CHECK(message().ends_with("cannot be scheduled: 0/4 nodes are available: 4 Insufficient gpu."));
}

TEST_CASE("[behaviour 4.13] a pod that cannot start is told with the kubelet's text", "[engine]") {
    world w(ddp());
    w.settle();
    auto& c = w.pod("worker", 0).containers.at(0);
    c.reason = "ErrImagePull";
    c.message = "failed to pull image \"torch:9\": not found";
    w.settle();
    CHECK(
        find_condition(w.status(), "ReplicaFailure")->message ==
        "pod " + w.pod("worker", 0).name +
            " cannot start: ErrImagePull: failed to pull image \"torch:9\": not found"
    );
}

TEST_CASE("[behaviour 4.16] texts of others alone may wait longer than counts", "[engine]") {
    world w(ddp());
    w.settle();
    pod_record& worker = w.pod("worker", 0);
    worker.unschedulable = true;
    worker.scheduler_message = "0/4 nodes are available";
    CHECK(w.look().defer == milliseconds{0});  // another reason
    w.settle();
    worker.scheduler_message = "0/5 nodes are available";
    CHECK(w.look().defer == seconds{30});
    w.run(w.pod("worker", 1));
    CHECK(w.look().defer == seconds{1});  // a count as well
    w.rules().counts_interval = milliseconds{7};
    CHECK(w.look().defer == milliseconds{7});
    worker.unschedulable = false;
    CHECK(w.look().defer == milliseconds{0});
}

TEST_CASE(
    "[behaviour 4.16] that a new specification was seen may wait, as counts may", "[engine]"
) {
    world w(ddp());
    w.start();
    w.edit().run_policy("\"backoffLimit\":5");
    w.reload();
    const decision d = w.look();
    REQUIRE(d.status);
    CHECK(d.status->observed_generation == w.job().meta.generation);
    CHECK(d.status->observed_generation > w.status().observed_generation);
    CHECK(d.events.empty());
    CHECK(d.defer == seconds{1});
    w.edit().pause();
    w.reload();
    CHECK(w.look().defer == milliseconds{0});
}

TEST_CASE("[behaviour 4.16] the status of a large job is written less often", "[engine]") {
    const auto of = [](std::size_t kibibytes) {
        const std::string text(kibibytes << 10, 'x');
        return ddp(1).replicas({.type = "side", .args = {text}});
    };
    const auto [kibibytes, counts, texts] = GENERATE(
        table<std::size_t, int, int>({{250, 1, 30}, {258, 2, 30}, {1200, 9, 30}, {5000, 39, 39}})
    );
    CAPTURE(kibibytes);
    world w(of(kibibytes));
    w.settle();
    w.run(w.pod("worker", 0));
    CHECK(w.look().defer == seconds{counts});
    w.rules().counts_interval = milliseconds{0};
    CHECK(w.look().defer == milliseconds{0});
    pod_record& side = w.pod("side", 0);
    side.unschedulable = true;
    w.settle();
    side.scheduler_message = "0/5 nodes are available";
    CHECK(w.look().defer == seconds{texts});
}

TEST_CASE("[behaviour 4.14] a delay is rounded up to whole seconds, an end down", "[engine]") {
    world w(ddp());
    w.start();
    w.wait(milliseconds{5400});
    w.ask_deletion(w.pod("worker", 0), 0);
    w.settle();
    CHECK(w.status().restarts.last->time == at(5));
    CHECK(w.status().restarts.last->not_before == at(16));
}

TEST_CASE("[behaviour 2.5] a dying namespace stops creations, not the wish for them", "[engine]") {
    world w(ddp());
    w.gate = [](const action&) { return false; };
    w.pass();
    w.pass();
    refusal r = refused(w, object_kind::service, w.plan().objects.front().name, 403);
    r.namespace_terminating = true;
    w.refusals.push_back(r);
    w.events.clear();
    w.settle();
    const int writes = w.status_writes;
    const auto d = w.look();
    REQUIRE_FALSE(d.stages.empty());
    for (const auto& a : d.stages.front()) {
        CHECK(a.not_before == w.now() + seconds{10});
    }
    CHECK(d.wake_up == w.now() + seconds{10});
    w.settle();
    CHECK(w.status_writes == writes);
    CHECK(w.events.empty());
}

TEST_CASE(
    "[behaviour 11.2] [api status.told] a fact is told once, whatever the phase says", "[engine]"
) {
    world w(c10d(3));
    w.start();
    w.wait(seconds{100});
    w.ask_deletion(w.pod("node", 1), 0);
    w.settle();
    w.gate = [](const action& a) { return a.kind != object_kind::pod; };
    w.pods().remove_if([](const pod_record& p) { return p.deletion.has_value(); });
    w.pass();
    w.pass();
    const std::string name = w.last().stages.back().front().name;
    refusal r = refused(w, object_kind::pod, name, 403, "exceeded quota: pods");
    r.round = 1;
    w.refusals.push_back(r);
    for (int i = 0; i < 5; ++i) {
        w.pass();
    }
    CHECK(w.status().phase == job_phase::running);
    CHECK(w.status().reason == "QuotaExceeded");
    CHECK(w.count_events("QuotaExceeded") == 1);
    CHECK(w.status().told == std::vector<std::string>{"QuotaExceeded"});
    CHECK(
        find_condition(w.status(), "Running")->message.find("exceeded quota") != std::string::npos
    );
    // The next refusal of the same kind, with other numbers in it, is no other fact.
    w.refusals.front().message = "exceeded quota: pods, used 4";
    w.refusals.front().count = 2;
    w.pass();
    CHECK(w.count_events("QuotaExceeded") == 1);
    // Neither is it after a message that somebody edited: what was told is a field of its own.
    for (condition& c : w.status().conditions) {
        c.message.clear();
    }
    w.status().reason.clear();
    w.pass();
    CHECK(w.count_events("QuotaExceeded") == 1);
    w.refusals.clear();
    w.gate = nullptr;
    w.settle();
    w.run_all();
    CHECK(w.status().reason.empty());
}

TEST_CASE("[behaviour 2.8] a 422 is for good, also one that speaks of quota", "[engine]") {
    world w(ddp());
    w.gate = [](const action& a) { return a.kind != object_kind::pod; };
    w.pass();
    w.pass();
    w.pass();
    const std::string name = w.last().stages.back().front().name;
    w.refusals.push_back(
        refused(w, object_kind::pod, name, 422, "exceeded quota is no name of a resource")
    );
    w.pass();
    CHECK(w.status().phase == job_phase::failed);
    CHECK(w.status().reason == "PodRejected");
}
