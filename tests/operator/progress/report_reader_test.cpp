// SPDX-License-Identifier: Apache-2.0
#include "progress/report_reader.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

using namespace signalbox;
using op::progress::read_report;

namespace {

std::string with(const std::string& members) {
    return R"({"trainerStatus":{)" + members + "}}";
}

std::string metric(const std::string& name, const std::string& value) {
    return R"({"name":")" + name + R"(","value":)" + value + "}";
}

std::string with_metric(const std::string& name, const std::string& value) {
    return with("\"metrics\":[" + metric(name, value) + "]");
}

core::progress_message read(const std::string& body) {
    const auto out = read_report(body);
    INFO(body);
    REQUIRE(out);
    return *out;
}

}  // namespace

TEST_CASE("[behaviour 13.11] what transformers sends is understood") {
    const auto said =
        read(with(R"("lastUpdatedTime":"2026-01-01T00:00:00+00:00","progressPercentage":35,)"
                  R"("estimatedRemainingSeconds":10,"metrics":[{"name":"loss","value":"4.31"},)"
                  R"({"name":"learning_rate","value":"5e-05"},{"name":"current_step","value":"7"},)"
                  R"({"name":"total_steps","value":"20"},{"name":"current_epoch","value":"0.44"}])")
        );
    CHECK(said.percentage == 35);
    CHECK(said.remaining_seconds == 10);
    CHECK(said.current_step == 7);
    CHECK(said.total_steps == 20);
    CHECK(said.rank == 0);
    CHECK_FALSE(said.checkpoint_step);
    CHECK(
        said.metrics ==
        std::vector<core::progress_metric>{
            {"loss", "4.31"}, {"learning_rate", "5e-05"}, {"current_epoch", "0.44"}}
    );
}

TEST_CASE("[behaviour 13.11] rank and checkpoint are metrics of a name") {
    const auto said = read(with(
        "\"metrics\":[" + metric("rank", "\"3\"") + ',' + metric("checkpoint_step", "40") + ']'
    ));
    CHECK(said.rank == 3);
    CHECK(said.checkpoint_step == 40);
    CHECK_FALSE(said.checkpoint_seconds);
    CHECK(said.metrics.empty());
    CHECK(read(with_metric("checkpoint_seconds", "\"30.2\"")).checkpoint_seconds == 31);
    CHECK_FALSE(read(with_metric("checkpoint_seconds", "-1")).checkpoint_seconds);
    CHECK_FALSE(read(with_metric("checkpoint_seconds", "1e12")).checkpoint_seconds);
    CHECK(read(with("")).metrics.empty());  // a heartbeat
}

TEST_CASE("[behaviour 13.11] what has not the form is as absent") {
    for (const char* step :
         {"-1", "\"seven\"", "\"7x\"", "\" 7\"", "\"nan\"", "\"1e300\"", "true", "[]", "null"}) {
        CHECK_FALSE(read(with_metric("current_step", step)).current_step);
    }
    CHECK(read(with_metric("current_step", "\"7.9\"")).current_step == 7);
    CHECK(read(with_metric("rank", "\"99999999999\"")).rank == 0);
    CHECK_FALSE(read(with(R"("progressPercentage":101)")).percentage);
    CHECK_FALSE(read(with(R"("progressPercentage":"x")")).percentage);
    CHECK_FALSE(read(with(R"("estimatedRemainingSeconds":-5)")).remaining_seconds);
    for (const char* value : {"\"inf\"", "\"\"", "\"<b>\"", "{}", "\"0x10\""}) {
        CHECK(read(with_metric("loss", value)).metrics.empty());
    }
    for (const char* list : {"7", "{}", "[7,[],null,{\"name\":7,\"value\":1},{\"name\":\"a\"}]"}) {
        CHECK(read(with(std::string("\"metrics\":") + list)).metrics.empty());
    }
}

TEST_CASE("[behaviour 13.11] no more of it is kept than has room") {
    std::string metrics;
    for (int i = 0; i < 1000; ++i) {
        metrics += metric("own" + std::to_string(i), "1") + ',';
    }
    metrics += metric("loss", "\"0." + std::string(4000, '3') + '"') + ',' +
               metric(std::string(65, 'n'), "1") + ',' + metric("own0", "2") + ',' +
               metric("", "1");
    const auto said = read(with("\"metrics\":[" + metrics + ']'));
    REQUIRE(said.metrics.size() == op::progress::most_own_metrics + 1);
    CHECK(said.metrics.front() == core::progress_metric{"own0", "1"});
    CHECK(said.metrics.back() == core::progress_metric{"loss", "0.333333"});
}

TEST_CASE("[behaviour 13.11] what is no report is none") {
    for (const char* body :
         {"",
          "7",
          "[]",
          "{}",
          "{",
          R"({"trainerStatus":7})",
          R"({"trainerStatus":null})",
          "{\"trainerStatus\":{\"a\":\"\xff\"}}"}) {
        CHECK_FALSE(read_report(body));
    }
    CHECK_FALSE(read_report(std::string(60000, '[')));
    CHECK_FALSE(read_report(with("\"a\":" + std::string(60000, '['))));
}
