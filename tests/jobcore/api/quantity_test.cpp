// SPDX-License-Identifier: Apache-2.0
//
// Quantities, as an API server reads them.
#include "json/resources.hpp"

#include <catch2/catch.hpp>
#include <kubernetes/quantity.hpp>

using namespace signalbox;

namespace {

std::optional<std::int64_t> milli(const std::string& json) {
    core::json::document d;
    core::json::parse(d, json);
    REQUIRE_FALSE(d.HasParseError());
    return core::json::quantity_milli(d);
}

}  // namespace

TEST_CASE("a quantity is read in thousandths, whichever way it is written") {
    CHECK(milli("4") == 4000);
    CHECK(milli("0.3") == 300);
    CHECK(milli("2.0") == 2000);
    CHECK(milli(R"("500m")") == 500);
    CHECK(milli(R"("+1.5")") == 1500);
    CHECK(milli(R"(".5")") == 500);
    CHECK(milli(R"("2e3")") == 2000000);
    CHECK(milli(R"("15E-1")") == 1500);
    CHECK(milli(R"("1Ki")") == 1024000);
    CHECK(milli(R"("1.5Gi")") == 1610612736000);
    CHECK(milli(R"("1999u")") == 1);
    CHECK(milli(R"("1999999n")") == 1);
    CHECK(milli(R"("9007199254740992m")") == 9007199254740992);
    CHECK_FALSE(milli(R"("9007199254740993m")").has_value());
    CHECK_FALSE(milli("9007199254741").has_value());
    for (const char* none :
         {"-1",
          R"("-1")",
          R"("")",
          R"(".")",
          R"("inf")",
          R"("1Zi")",
          R"("1 ")",
          "null",
          "true",
          "{}"}) {
        INFO(none);
        CHECK_FALSE(milli(none).has_value());
    }
}

TEST_CASE("a quantity is rounded as it is asked to be") {
    using kubernetes::quantity_in;
    using kubernetes::rounding;
    CHECK(quantity_in("1.5", kubernetes::nanos_per_unit, rounding::up) == 2);
    CHECK(quantity_in("1.5", kubernetes::nanos_per_unit, rounding::down) == 1);
    CHECK(quantity_in("2", kubernetes::nanos_per_unit, rounding::up) == 2);
    CHECK(
        quantity_in("18446744073709551615", kubernetes::nanos_per_unit, rounding::up) == UINT64_MAX
    );
    CHECK_FALSE(
        quantity_in("18446744073709551616", kubernetes::nanos_per_unit, rounding::up).has_value()
    );
}
