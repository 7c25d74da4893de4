// SPDX-License-Identifier: Apache-2.0
//
// What a Workload says, by its conditions.
#include "jobcore/object_kind.hpp"
#include "jobcore/observed.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <string_view>

namespace signalbox::test {
namespace {

using core::gang_answer;

gang_answer answer(const std::string& conditions) {
    const auto seen = core::decode_child(
        core::kinds_of_scheduler("kueue").front(),
        R"({"metadata":{"name":"mnist","uid":"u"},"spec":{"queueName":"team-a"},)"
        R"("status":{"conditions":[)" +
            conditions + "]}}"
    );
    REQUIRE(seen);
    REQUIRE(seen->gang != nullptr);
    REQUIRE(seen->gang->quota != nullptr);
    return *seen->gang;
}

std::string is(const std::string& type, bool status, const std::string& reason = "") {
    return R"({"type":")" + type + R"(","status":")" + (status ? "True" : "False") +
           R"(","reason":")" + reason +
           R"(","message":"m","lastTransitionTime":"2026-01-01T00:00:00Z"})";
}

bool lets_in(const gang_answer& says) {
    return says.is == gang_answer::state::admitted;
}

}  // namespace

TEST_CASE("[behaviour 8.11] a Workload waits, has quota reserved, is admitted", "[kueue]") {
    auto says = answer("");
    CHECK(says.quota->queue == "team-a");
    CHECK_FALSE(says.quota->reserved);
    CHECK_FALSE(lets_in(says));
    CHECK_FALSE(says.fixed);
    CHECK(says.words.empty());

    says = answer(is("QuotaReserved", false, "Pending"));
    CHECK_FALSE(says.quota->reserved);
    CHECK(says.quota->since.empty());
    CHECK(says.words == "Pending: m");

    says = answer(is("QuotaReserved", true) + "," + is("Admitted", false));
    CHECK(says.quota->reserved);
    CHECK_FALSE(says.quota->admitted);
    CHECK(says.quota->since == "2026-01-01T00:00:00Z");
    CHECK(says.fixed);
    CHECK_FALSE(lets_in(says));

    says = answer(is("QuotaReserved", true) + "," + is("Admitted", true));
    CHECK(says.quota->admitted);
    CHECK(lets_in(says));
    CHECK(says.words.empty());
}

TEST_CASE("[behaviour 8.13] a Workload loses its quota, or is done", "[kueue]") {
    const std::string admitted = is("Admitted", true);
    auto says =
        answer(is("QuotaReserved", true) + "," + admitted + "," + is("Evicted", true, "Preempted"));
    CHECK(says.quota->reserved);
    CHECK(says.quota->evicted);
    CHECK_FALSE(lets_in(says));
    CHECK(says.words == "Preempted: m");

    // Given back: what its conditions say of before counts no more.
    says =
        answer(is("QuotaReserved", false, "Pending") + "," + admitted + "," + is("Evicted", true));
    CHECK_FALSE(says.quota->reserved);
    CHECK_FALSE(says.quota->admitted);
    CHECK_FALSE(says.quota->evicted);
    CHECK(says.quota->since.empty());
    CHECK(says.words == "Pending: m");

    says = answer(is("QuotaReserved", true) + "," + admitted + "," + is("Finished", true));
    CHECK(says.quota->finished);
    CHECK_FALSE(lets_in(says));
}

}  // namespace signalbox::test
