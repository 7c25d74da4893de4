// SPDX-License-Identifier: Apache-2.0
//
// Pods that fail or are taken away.
#include "k8sio/object.hpp"
#include "k8sio/resource.hpp"
#include "scenario/world.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

namespace {

using namespace signalbox;
using namespace signalbox::test;

/// Workers run for 5 s; those pods of worker 1 that `nth` names do something else.
world_options with_worker_1(const std::string& nth, op::pods::settings does) {
    world_options options;
    options.script.defaults = {{"duration", "5s"}};
    op::pods::rule rule = pods_of_type("worker", std::move(does));
    rule.index = core::index_set::parse("1");
    rule.nth = core::index_set::parse(nth);
    options.script.rules.push_back(std::move(rule));
    return options;
}

}  // namespace

TEST_CASE("[behaviour 5.5] a worker that exits 1 twice costs two of the budget, then all succeeds"
) {
    world w(with_worker_1("1-2", {{"fail-at", "1s"}, {"exit-code", "1"}}));
    w.create_job(job_builder("mnist").replicas("worker", 3));
    REQUIRE(w.run_until([&] { return w.is_phase("mnist", "Succeeded"); }, seconds{120}));
    const core::job_status status = w.status("mnist");
    CHECK(status.backoff_count == 2);
    CHECK(status.attempt == 3);
    CHECK(status.restarts.disruptions == 0);
    CHECK(w.audit().pods_created().size() == 9);
    CHECK(w.audit().most_live() == 3);
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE("[behaviour 5.10] [behaviour I25] when the budget is used up the job fails and says so") {
    world w(with_worker_1("1-9", {{"fail-at", "1s"}, {"exit-code", "1"}}));
    w.create_job(job_builder("mnist").replicas("worker", 2).run_policy(R"("backoffLimit":1)"));
    REQUIRE(w.run_until([&] { return w.is_phase("mnist", "Failed"); }, seconds{120}));
    const core::job_status status = w.status("mnist");
    CHECK(status.reason == "BackoffLimitExceeded");
    CHECK(status.backoff_count == 1);
    REQUIRE(w.run_until([&] { return w.live_pods() == 0; }, seconds{10}));
    w.run_for(seconds{60});
    CHECK(w.event_count("mnist", "Failed") == 1);
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE("[behaviour 5.5] restartPolicy Never ends the job with the first failure") {
    world w(with_worker_1("1", {{"fail-at", "1s"}, {"exit-code", "137"}}));
    w.create_job(job_builder("once").replicas("worker", 2, "Never"));
    REQUIRE(w.run_until([&] { return w.is_phase("once", "Failed"); }, seconds{30}));
    CHECK(w.status("once").reason == "ErrorInPod");
    CHECK(w.status("once").backoff_count == 0);
}

TEST_CASE("[behaviour 5.5] restartPolicy ExitCode restarts 137 and not 1") {
    SECTION("1 is permanent") {
        world w(with_worker_1("1", {{"fail-at", "1s"}, {"exit-code", "1"}}));
        w.create_job(job_builder("code").replicas("worker", 2, "ExitCode"));
        REQUIRE(w.run_until([&] { return w.is_phase("code", "Failed"); }, seconds{30}));
        CHECK(w.status("code").reason == "ErrorInPod");
    }
    SECTION("137 is tried again") {
        world w(with_worker_1("1", {{"fail-at", "1s"}, {"exit-code", "137"}}));
        w.create_job(job_builder("code").replicas("worker", 2, "ExitCode"));
        REQUIRE(w.run_until([&] { return w.is_phase("code", "Succeeded"); }, seconds{60}));
        CHECK(w.status("code").backoff_count == 1);
    }
}

TEST_CASE("[behaviour 5.4] evicted, preempted, deleted and vanished pods cost nothing of the budget"
) {
    const auto fault =
        GENERATE(as<std::string>{}, "evict-at", "preempt-at", "delete-at", "vanish-at");
    CAPTURE(fault);
    world w(with_worker_1("1", {{fault, "1s"}}));
    w.create_job(job_builder("free").replicas("worker", 2).run_policy(R"("backoffLimit":0)"));
    REQUIRE(w.run_until([&] { return w.is_phase("free", "Succeeded"); }, seconds{120}));
    const core::job_status status = w.status("free");
    CHECK(status.backoff_count == 0);
    CHECK(status.restarts.disruptions == 1);
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE("[behaviour 5.6] c10d replaces a disrupted worker alone, in its place") {
    world_options options = with_worker_1("1", {{"delete-at", "1s"}});
    options.script.defaults = {{"duration", "30s"}};  // the replacement waits for 10 s (5.4)
    world w(options);
    w.create_job(job_builder("alone").replicas("worker", 3).torchrun(3));
    REQUIRE(w.run_until([&] { return w.is_phase("alone", "Succeeded"); }, seconds{120}));
    CHECK(w.status("alone").attempt == 1);
    CHECK(w.audit().pods_created().size() == 4);
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE("[behaviour 2.6] a Service that somebody deleted or edited is put back") {
    world_options options;
    options.script.defaults = {{"duration", "never"}};
    world w(options);
    w.create_job(job_builder("svc").replicas("worker", 2));
    REQUIRE(w.run_until([&] { return w.is_phase("svc", "Running"); }, seconds{10}));
    const auto before = w.list(k8sio::resources::services());
    REQUIRE(before.size() == 2);
    const auto name = k8sio::read_object_meta(before.front())->name;

    w.remove(k8sio::resources::services(), name);
    w.run_for(seconds{1});
    CHECK(w.list(k8sio::resources::services()).size() == 2);

    REQUIRE(
        w.patch(
             k8sio::resources::services(), name, R"({"spec":{"publishNotReadyAddresses":false}})"
        )
            .has_value()
    );
    w.run_for(seconds{1});
    const auto after = w.get(k8sio::resources::services(), name);
    REQUIRE(after.has_value());
    CHECK(after->find(R"("publishNotReadyAddresses":true)") != std::string::npos);
    CHECK(w.is_phase("svc", "Running"));
}

TEST_CASE("[behaviour 1.9] a pod of ours whose labels were taken away is replaced, not doubled") {
    world_options options;
    options.script.defaults = {{"duration", "20s"}};
    world w(options);
    w.create_job(job_builder("bare").replicas("worker", 2));
    REQUIRE(w.run_until([&] { return w.is_phase("bare", "Running"); }, seconds{10}));
    const auto all = w.pods();
    const auto pod =
        std::find_if(all.begin(), all.end(), [](const auto& p) { return p.index == 1; });
    REQUIRE(pod != all.end());
    REQUIRE(w.patch(
                 k8sio::resources::pods(),
                 pod->name,
                 R"({"metadata":{"labels":{"app.kubernetes.io/managed-by":null,)"
                 R"("batch.tensorstack.dev/attempt":null}}})"
    )
                .has_value());
    // It holds its name until it is gone: the one that takes its place is made after that.
    const auto is_there = [&](const std::string& uid) {
        const auto held = w.audit().held();
        return std::any_of(held.begin(), held.end(), [&](const auto& p) { return p.uid == uid; });
    };
    REQUIRE(w.run_until([&] { return !is_there(pod->uid); }, seconds{60}));
    const auto& created = w.audit().pods_created();
    CHECK(created.size() <= 3);  // not one of its index, but that in the same instant
    CHECK(w.audit().most_live() == 2);
    REQUIRE(w.run_until([&] { return w.is_phase("bare", "Succeeded"); }, seconds{300}));
    CHECK(w.status("bare").backoff_count == 0);
    CHECK(w.status("bare").restarts.disruptions == 1);
    CHECK(w.status("bare").attempt == 2);
    CHECK(created.size() == 4);
    CHECK(w.audit().most_live() == 2);
    // It counts as attempt 0, and ran beside others of the first attempt alone.
    for (const std::string& violation : w.audit().violations()) {
        CHECK(violation == "I8: pods of attempts 0 and 1 at once");
    }
    CHECK(w.operator_().counters().status_writes < 14);
}
