// SPDX-License-Identifier: Apache-2.0
#include "pods/training_reports.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <string>

using namespace signalbox::op;
using namespace signalbox::op::pods;
using namespace std::chrono_literals;

namespace {

pod_facts rank(std::int32_t number, std::int32_t attempt = 1) {
    pod_facts out;
    out.ns = "default";
    out.uid = "u-" + std::to_string(number);
    out.job_uid = "j";
    out.rank = number;
    out.attempt = attempt;
    out.reports_to = "http://simulated/namespaces/default/pytorchtrainingjobs/mnist";
    return out;
}

behaviour training() {
    behaviour out;
    out.step_every = 100ms;
    out.total_steps = 500;
    out.checkpoint_every = 40;
    return out;
}

}  // namespace

TEST_CASE("simulated pods tell their steps by the time that has passed") {
    training_reports all;
    const auto said = all.report_of(rank(3), training(), 9s);
    REQUIRE(said);
    CHECK(said->rank == 3);
    CHECK(said->attempt == 1);
    CHECK(said->current_step == 90);
    CHECK(said->total_steps == 500);
    CHECK(said->checkpoint_step == 80);
    REQUIRE(said->metrics.size() == 1);
    CHECK(said->metrics[0].name == "loss");
    CHECK(all.report_of(rank(3), training(), 1h)->current_step == 500);
    CHECK_FALSE(all.report_of(rank(4), training(), 1s)->checkpoint_step);
    CHECK(training_reports::interval(training()) == 1s);
}

TEST_CASE("who is not asked, or does not train, says nothing") {
    training_reports all;
    CHECK_FALSE(all.report_of(rank(0), behaviour(), 9s));
    pod_facts silent = rank(0);
    silent.reports_to.clear();
    CHECK_FALSE(all.report_of(silent, training(), 9s));
    CHECK(training_reports::interval(behaviour()) == never);
    behaviour at_rest = training();
    at_rest.step_every = 0s;
    CHECK_FALSE(all.report_of(rank(0), at_rest, 9s));
}

TEST_CASE("one that stands still stops the others a step further, and the next attempt goes on") {
    training_reports all;
    behaviour still = training();
    still.stall_at = 5s;
    CHECK(all.report_of(rank(0), training(), 6s)->current_step == 60);
    CHECK(all.report_of(rank(1), still, 6s)->current_step == 50);
    CHECK(all.report_of(rank(0), training(), 7s)->current_step == 51);
    CHECK(all.report_of(rank(1), still, 60s)->current_step == 50);
    const auto again = all.report_of(rank(0, 2), training(), 1s);
    CHECK(again->current_step == 50);  // behind the checkpoint of step 40
    CHECK_FALSE(again->checkpoint_step);
}

TEST_CASE("stalls befall those pods that faults befall") {
    behaviour still = training();
    REQUIRE_FALSE(set(still, "stall-at", "5s"));
    REQUIRE_FALSE(set(still, "fail-times", "1"));
    CHECK(for_pod(still, 0, 1).stall_at == 5s);
    CHECK(for_pod(still, 0, 1).exit_code == 0);
    CHECK_FALSE(for_pod(still, 0, 2).stall_at);
    CHECK(for_pod(still, 0, 2).step_every);
}
