// SPDX-License-Identifier: Apache-2.0
//
// What is kept of jobs, and what is read again (BEHAVIOUR.md 12.13).
#include "controller/resource_table.hpp"
#include "scenario/world.hpp"

#include <catch2/catch.hpp>

#include <string>

namespace {

using namespace signalbox;
using namespace signalbox::test;

world_options long_pods() {
    world_options options;
    options.script.defaults = {{"duration", "never"}};
    return options;
}

constexpr const char* to_pause = R"({"spec":{"runMode":{"pause":{"enabled":true}}}})";
constexpr const char* to_resume = R"({"spec":{"runMode":{"pause":{"enabled":false}}}})";

/// The operator has it in memory what the job wants.
bool is_kept(world& w, const std::string& job) {
    const auto explained = w.operator_().explain("default", job);
    REQUIRE(explained.size() == 1);
    CHECK_FALSE(explained.front().ended);
    return !explained.front().lines.empty();
}

}  // namespace

TEST_CASE("[behaviour 12.13] of a paused job nothing is kept, and it goes on as others do") {
    world w(long_pods());
    w.create_job(job_builder("mnist").replicas("worker", 2));
    REQUIRE(w.run_until([&] { return w.is_phase("mnist", "Running"); }, soon));
    w.run_for(seconds{5});
    CHECK(is_kept(w, "mnist"));
    w.patch_job("mnist", to_pause);
    REQUIRE(w.run_until([&] { return w.is_phase("mnist", "Paused"); }, soon));
    w.run_for(seconds{60});
    CHECK_FALSE(is_kept(w, "mnist"));
    CHECK(w.live_pods() == 0);
    w.patch_job("mnist", to_resume);
    REQUIRE(w.run_until([&] { return w.is_phase("mnist", "Running"); }, soon));
    CHECK(is_kept(w, "mnist"));
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE("[behaviour 12.13] a job that was let go is decided again when the server serves more") {
    world w(long_pods());
    w.create_job(job_builder("mnist").replicas("worker", 1));
    REQUIRE(w.run_until([&] { return w.is_phase("mnist", "Running"); }, soon));
    w.patch_job("mnist", to_pause);
    REQUIRE(w.run_until([&] { return w.is_phase("mnist", "Paused"); }, soon));
    w.run_for(seconds{60});
    REQUIRE_FALSE(is_kept(w, "mnist"));
    const auto before = w.operator_().counters().reconciles;
    w.serve("tensorboard");
    w.run_for(seconds{70});
    CHECK(w.operator_().counters().reconciles > before);
}

TEST_CASE("[behaviour 12.13] a job that cannot be read is tried again until it can") {
    world_options options = long_pods();
    options.controller.kept_bytes = 0;
    options.controller.kept_bytes_of_pod = 0;
    world w(options);
    w.operator_transport().hold_answers("GET /apis/batch.tensorstack.dev/v1beta1/namespaces/");
    w.create_job(job_builder("mnist").replicas("worker", 2));
    w.run_for(seconds{5});
    CHECK(w.pods().empty());
    w.operator_transport().release_answers();
    REQUIRE(w.run_until([&] { return w.is_phase("mnist", "Running"); }, soon));
    CHECK_FALSE(is_kept(w, "mnist"));
    CHECK(w.audit().violations() == std::vector<std::string>{});
}

TEST_CASE("[behaviour 12.13] large jobs take turns, and small ones pass them") {
    world_options options = long_pods();
    options.controller.kept_bytes = 0;
    options.controller.kept_bytes_of_pod = 0;
    options.controller.pass_bytes = 1;
    world w(options);
    w.operator_transport().hold_answers("POST ");
    for (const char* name : {"large-1", "large-2"}) {
        job_builder large(name);
        w.create_job(large.annotation("of-the-user", std::string(80000, 'x')));
    }
    w.run_for(seconds{5});
    w.create_job(job_builder("small"));
    w.run_for(seconds{5});
    CHECK(w.phase("large-1") + w.phase("large-2") == "Pending");
    CHECK(w.is_phase("small", "Pending"));
    w.operator_transport().release_answers();
    REQUIRE(w.run_until(
        [&] { return w.is_phase("large-1", "Running") && w.is_phase("large-2", "Running"); }, soon
    ));
    CHECK(w.audit().violations() == std::vector<std::string>{});
}
