// SPDX-License-Identifier: Apache-2.0
//
// Jobs of one namespace that take more together than they may (BEHAVIOUR.md 2.12).
#include "controller/resource_table.hpp"
#include "k8sio/resource.hpp"
#include "scenario/job_texts.hpp"
#include "scenario/virtual_time.hpp"
#include "scenario/world.hpp"

#include <catch2/catch.hpp>

#include <string>

namespace {

using namespace signalbox;
using namespace signalbox::test;

/// One job at a time.
world_options one_of_all(const std::string& duration = "never") {
    world_options options;
    options.script.defaults = {{"duration", duration}};
    options.rules.namespace_bytes = 1;
    return options;
}

void ask_for_pause(world& w, const std::string& job, bool pause) {
    w.patch_job(
        job,
        R"({"spec":{"runMode":{"pause":{"enabled":)" + std::string(pause ? "true" : "false") +
            "}}}}"
    );
}

bool waits(world& w, const std::string& job) {
    return w.status(job).reason == "WaitingForRoom";
}

}  // namespace

TEST_CASE("[behaviour 2.12] the next job begins when one has ended, in the order of creation") {
    world w(one_of_all("20s"));
    for (const char* name : {"a", "b", "c"}) {
        w.create_job(job_builder(name).replicas("worker", 1));
        w.run_for(seconds{2});
    }
    REQUIRE(w.is_phase("a", "Running"));
    CHECK(waits(w, "b"));
    CHECK(waits(w, "c"));
    CHECK(w.operator_().jobs_without_room() == 2);
    CHECK(w.event_count("b", "WaitingForRoom") == 1);
    CHECK(w.pods().size() == 1);
    REQUIRE(w.run_until([&] { return w.is_phase("a", "Succeeded"); }, seconds{30}));
    REQUIRE(w.run_until([&] { return w.is_phase("b", "Running"); }, seconds{5}));
    CHECK(waits(w, "c"));
    CHECK(w.operator_().jobs_without_room() == 1);
    REQUIRE(w.run_until([&] { return w.is_phase("c", "Succeeded"); }, seconds{60}));
    CHECK(w.operator_().jobs_without_room() == 0);
    CHECK(w.event_count("c", "WaitingForRoom") == 1);
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE("[behaviour 2.12] a restart of the operator changes no place") {
    world w(one_of_all());
    for (const char* name : {"a", "b"}) {
        w.create_job(job_builder(name).replicas("worker", 1));
        w.run_for(seconds{2});
    }
    ask_for_pause(w, "a", true);
    REQUIRE(w.run_until([&] { return w.is_phase("b", "Running"); }, soon));
    ask_for_pause(w, "a", false);
    REQUIRE(w.run_until([&] { return waits(w, "a"); }, soon));
    w.kill_operator();
    w.start_operator();
    w.run_for(seconds{30});
    CHECK(w.is_phase("a", "Resuming"));
    CHECK(waits(w, "a"));
    CHECK(w.is_phase("b", "Running"));
    CHECK(w.operator_().jobs_without_room() == 1);
    w.remove(op::type_of(core::job_kind::pytorch), "b");
    REQUIRE(w.run_until([&] { return w.is_phase("a", "Running"); }, soon));
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE("[behaviour 2.12] jobs of all kinds count, those of other namespaces do not") {
    world w(one_of_all());
    w.create(
        k8sio::resources::namespaces(),
        R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"quiet"}})"
    );
    w.create_job(deepspeed("first", 1, R"("disableCustomEnv":false)"));
    w.run_for(seconds{2});
    w.create_job(job_builder("second").replicas("worker", 1));
    job_builder elsewhere("elsewhere");
    elsewhere.ns("quiet").replicas("worker", 1);
    const auto& type = op::type_of(core::job_kind::pytorch);
    REQUIRE(w.finish(w.user().create(type, "quiet", as_written(elsewhere.json()))).has_value());
    w.run_for(seconds{5});
    CHECK(waits(w, "second"));
    const auto job = w.finish(w.user().get(type, "quiet", "elsewhere"));
    REQUIRE(job.has_value());
    CHECK(core::parse_status(*job).phase == core::job_phase::running);
}

TEST_CASE("[behaviour 2.12] no job begins before the lists of all kinds are read") {
    world w(one_of_all());
    w.create_job(job_builder("a").replicas("worker", 1));
    REQUIRE(w.run_until([&] { return w.is_phase("a", "Running"); }, soon));
    w.kill_operator();
    w.create_job(deepspeed("b", 1));
    w.start_operator();
    w.operator_transport().hold_answers(
        "GET /apis/batch.tensorstack.dev/v1beta1/pytorchtrainingjobs"
    );
    w.run_for(seconds{5});
    CHECK(w.status("b").attempt == 0);
    w.operator_transport().release_answers();
    REQUIRE(w.run_until([&] { return waits(w, "b"); }, soon));
    CHECK(w.audit().violations() == std::vector<std::string>{});
}
