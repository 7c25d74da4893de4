// SPDX-License-Identifier: Apache-2.0
#include "jobcore/labels.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace core = signalbox::core;

TEST_CASE(
    "[behaviour 2.7] [behaviour I16] lost labels of ours are restored, attempt and round never"
) {
    const std::string wanted =
        R"({"metadata":{"labels":{"replica-type":"worker","replica-index":"0","team":"a",)"
        R"("batch.tensorstack.dev/attempt":"2","batch.tensorstack.dev/round":"1"}}})";
    const std::string live = R"({"metadata":{"uid":"u","labels":{"replica-type":"worker",)"
                             R"("batch.tensorstack.dev/attempt":"1"}}})";
    CHECK(core::label_patch(wanted, live) == R"({"metadata":{"labels":{"replica-index":"0"}}})");
    CHECK_FALSE(core::label_patch(
        wanted,
        R"({"metadata":{"uid":"u","labels":)"
        R"({"replica-type":"worker","replica-index":"0"}}})"
    ));
    CHECK(core::label_patch(wanted, R"({"metadata":{"uid":"u"}})").has_value());
    CHECK(
        core::label_patch(
            wanted,
            R"({"metadata":{"uid":"u","labels":{"replica-type":"other","replica-index":"0"}}})"
        ) == R"({"metadata":{"labels":{"replica-type":"worker"}}})"
    );
    CHECK(
        core::lost_labels(wanted, live) ==
        std::vector<std::string>{
            "replica-index", "batch.tensorstack.dev/attempt", "batch.tensorstack.dev/round"}
    );
    CHECK(core::lost_labels(wanted, wanted).empty());
    CHECK(core::lost_labels({}, live).empty());
    CHECK_FALSE(core::label_patch(R"({"metadata":{}})", live));
}
