// SPDX-License-Identifier: Apache-2.0
//
// Estimates of rules, in the figures of k8s.io/apiextensions-apiserver 0.34.4 (its Compile), which
// rule_costs.json has, those with functions that are not evaluated here among them. What is refused
// for them is held to a real server by the scenarios "definitions: ..." of conformance_bounds.json.
#include "server/schema/cel_cost.hpp"

#include "signalbox_test/source_files.hpp"

#include <catch2/catch.hpp>
#include <rapidjson/document.h>

#include <limits>
#include <string>

namespace signalbox::k8sio::server::cel {
namespace {

constexpr std::uint64_t boundless = std::numeric_limits<std::uint64_t>::max();

std::uint64_t cost(const std::string& schema, const std::string& rule) {
    rapidjson::Document d;
    d.Parse(schema.c_str());
    const declared_ptr self = declare(d, resource_root::no);
    REQUIRE(self != nullptr);
    const auto parsed = parse(rule);
    REQUIRE(parsed.has_value());
    return estimate(**parsed, *self);
}

}  // namespace

TEST_CASE("[requirement H8] rules are estimated to cost what a real server estimates") {
    rapidjson::Document cases;
    cases.Parse(signalbox::test::source_text("tests/k8sio/server/rule_costs.json"));
    REQUIRE(cases.IsArray());
    for (const json::value& c : cases.GetArray()) {
        const resource_root root = c["root"].GetBool() ? resource_root::yes : resource_root::no;
        const declared_ptr self = declare(c["schema"], root);
        REQUIRE(self != nullptr);
        CHECK(max_request / (self->smallest + 1) == c["often"].GetInt64());
        for (const json::value& row : c["rules"].GetArray()) {
            INFO(row[0].GetString());
            const auto parsed = parse(row[0].GetString());
            REQUIRE(parsed.has_value());
            CHECK(estimate(**parsed, *self) == row[1].GetUint64());
        }
    }
}

TEST_CASE("[requirement H8] what nothing bounds costs the most that there is") {
    const std::string list = R"({"type":"array","items":{"type":"string"}})";
    CHECK(cost(list, "self.all(a, self.all(b, self.all(c, self.all(d, a == b))))") == boundless);
    CHECK(
        cost(list, "self.map(a, string(a) + string(a)).all(a, self.all(b, a == 'x'))") > 1'000'000
    );
    CHECK(product(boundless, 2) == boundless);
    CHECK(product(boundless, 0) == 0);
    CHECK(sum(boundless, 1) == boundless);
}

TEST_CASE("[requirement H8] a bound below nothing is none, and the largest wraps as there") {
    CHECK(cost(R"({"type":"array","maxItems":-1,"items":{"type":"string"}})", "1 in self") == 1);
    const std::string text = R"({"type":"string","maxLength":4611686018427387904})";
    CHECK(cost(text, "self == self") == 2);
}

TEST_CASE("[requirement A7] a rule with a function that is not evaluated is estimated, not asked") {
    const auto parsed = parse("self.trim() == 'a' || ip.isCanonical(self)");
    REQUIRE(parsed.has_value());
    CHECK_FALSE(can_evaluate(**parsed));
    CHECK(can_evaluate(**parse("size(self) > 1")));
    for (const char* rule : {"self.trim(1)", "trim(self)", "sets.join(self)", "self.nothing()"}) {
        CHECK_FALSE(parse(rule).has_value());
    }
}

TEST_CASE("[requirement H8] rules see no values without a type") {
    for (const char* schema :
         {R"({"x-kubernetes-preserve-unknown-fields":true})",
          R"({"type":"array"})",
          R"({"type":"array","items":{}})",
          R"({"type":"object","additionalProperties":{}})"}) {
        rapidjson::Document d;
        d.Parse(schema);
        CHECK(declare(d, resource_root::yes) == nullptr);
    }
}

}  // namespace signalbox::k8sio::server::cel
