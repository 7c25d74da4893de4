// SPDX-License-Identifier: Apache-2.0
//
// What the stand-in for Kueue writes into Workloads.
#include "pods/admission.hpp"

#include <catch2/catch.hpp>

#include <string>

using namespace signalbox;
using op::pods::answer_workload;

namespace {

constexpr core::instant now{core::seconds{1'767'225'600}};

std::string workload(const std::string& status, const std::string& spec = {}) {
    return R"({"metadata":{"namespace":"team","name":"train-1a2b3","resourceVersion":"7"},"spec":{)" +
           spec +
           R"("podSets":[{"name":"master","count":1},{"name":"worker","count":3}]},"status":{)" +
           status + "}}";
}

std::string condition(const std::string& type, const char* status) {
    return R"({"type":")" + type + R"(","status":")" + status + R"("})";
}

}  // namespace

TEST_CASE("a Workload that waits gets all that it asks for") {
    const auto answer = answer_workload(workload(""), now);
    REQUIRE(answer);
    CHECK(answer->ns == "team");
    CHECK(answer->name == "train-1a2b3");
    CHECK(
        answer->patch ==
        R"({"metadata":{"resourceVersion":"7"},"status":{"admission":{"clusterQueue":"stand-in",)"
        R"("podSetAssignments":[{"name":"master","count":1},{"name":"worker","count":3}]},)"
        R"("conditions":[{"type":"QuotaReserved","status":"True","reason":"QuotaReserved",)"
        R"("message":"By a stand-in for Kueue","lastTransitionTime":"2026-01-01T00:00:00Z"},)"
        R"({"type":"Admitted","status":"True","reason":"Admitted",)"
        R"("message":"By a stand-in for Kueue","lastTransitionTime":"2026-01-01T00:00:00Z"}]}})"
    );
}

TEST_CASE("a Workload that was released is admitted again, and is evicted no more") {
    const auto answer = answer_workload(
        workload(
            R"("conditions":[)" + condition("QuotaReserved", "False") + "," +
            condition("Admitted", "False") + "," + condition("Evicted", "True") + "," +
            condition("PodsReady", "False") + "]"
        ),
        now
    );
    REQUIRE(answer);
    CHECK(
        answer->patch.find(R"("conditions":[{"type":"PodsReady","status":"False"},{"type":"Quota)"
        ) != std::string::npos
    );
    CHECK(answer->patch.find("Evicted") == std::string::npos);
}

TEST_CASE("a Workload that has its quota, or has ended, needs nothing") {
    const std::string has = condition("QuotaReserved", "True");
    CHECK_FALSE(answer_workload(workload(R"("conditions":[)" + has + "]"), now));
    CHECK_FALSE(
        answer_workload(workload(R"("conditions":[)" + condition("Finished", "True") + "]"), now)
    );
    CHECK_FALSE(answer_workload("no JSON", now));
}

TEST_CASE("a Workload that somebody deactivates is evicted once, and waits") {
    const std::string off = R"("active":false,)";
    const std::string has =
        condition("QuotaReserved", "True") + "," + condition("Admitted", "True");
    const auto answer = answer_workload(workload(R"("conditions":[)" + has + "]", off), now);
    REQUIRE(answer);
    CHECK(
        answer->patch ==
        R"({"metadata":{"resourceVersion":"7"},"status":{"conditions":[)" + has +
            R"(,{"type":"Evicted","status":"True","reason":"Deactivated",)"
            R"("message":"The workload is deactivated","lastTransitionTime":"2026-01-01T00:00:00Z"}]}})"
    );
    CHECK_FALSE(answer_workload(
        workload(R"("conditions":[)" + has + "," + condition("Evicted", "True") + "]", off), now
    ));
    CHECK_FALSE(answer_workload(workload("", off), now));
}
