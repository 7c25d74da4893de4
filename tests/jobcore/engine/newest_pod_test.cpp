// SPDX-License-Identifier: Apache-2.0
//
// Of several pods on one index the newest counts (BEHAVIOUR.md 1.4, 4.15).
#include "engine/jobs.hpp"
#include "engine/view/view.hpp"

#include <catch2/catch.hpp>

using signalbox::test::c10d;
using signalbox::test::world;
namespace core = signalbox::core;

TEST_CASE("[behaviour 4.15] an index counts by its pod of the highest round", "[engine]") {
    world w(c10d());
    w.start();
    w.status().restarts.replaced.push_back({"node", 1, 1});
    // The pod of round 1 is there, and that of round 0 has not gone yet.
    auto successor = w.pod("node", 1);
    successor.round = 1;
    successor.name += "-r9";
    successor.uid = "successor";
    successor.phase = signalbox::core::pod_phase::pending;
    successor.containers.front().state = signalbox::core::container_state::waiting;
    const bool first = GENERATE(true, false);
    w.pods().insert(first ? w.pods().begin() : w.pods().end(), successor);
    const auto decision = w.look();
    REQUIRE(decision.status);
    CHECK(decision.status->aggregate->running == 2);
    CHECK(decision.status->aggregate->pending == 1);
    CHECK(decision.status->tasks.front().replicas.at(1).uid == "successor");
}

TEST_CASE("[behaviour 1.9] labels tell what the name tells", "[engine]") {
    core::job_plan plan;
    plan.base_name = "mnist-0ea89";
    plan.types.resize(1);
    plan.types[0].pod_prefix = "mnist-0ea89-a-1-";
    const std::size_t type = GENERATE(as<std::size_t>(), 0, core::engine::no_type);
    core::pod_record pod;
    pod.type = "a-1";
    pod.index = 30;
    for (const char* const same : {"mnist-0ea89-a-1-30", "mnist-0ea89-a-1-30-r9"}) {
        CAPTURE(same);
        pod.name = same;
        CHECK(core::engine::is_named_so(plan, pod, type));
    }
    const auto other = GENERATE(
        as<std::string>(),
        "",
        "0",
        "30",
        "-30",
        "a-1-30",
        "mnist-0ea89",
        "mnist-0ea88-a-1-30",
        "mnist-0ea89xa-1-30",
        "mnist-0ea89-a-2-30",
        "mnist-0ea89-a-1x30",
        "mnist-0ea89-a-1-31",
        "mnist-0ea89-a-1-130",
        "mnist-0ea89-a-1-0",
        "mnist-0ea89-a-1-3",
        "mnist-0ea89-aa-1-30",
        "mnist-0ea89-a-1-2-30",
        "x-mnist-0ea89-a-1-30",
        "mnist-0ea89-a-1-30-r",
        "mnist-0ea89-a-1-"
    );
    CAPTURE(other);
    pod.name = other;
    CHECK_FALSE(core::engine::is_named_so(plan, pod, type));
    pod.name = "mnist-0ea89-a-1-0";
    pod.index = 0;
    CHECK(core::engine::is_named_so(plan, pod, type));
    pod.index = -1;
    CHECK_FALSE(core::engine::is_named_so(plan, pod, type));
    pod.name = "mnist-0ea89-a-1-a";
    pod.index = 'a' - '0';
    CHECK_FALSE(core::engine::is_named_so(plan, pod, type));
}
