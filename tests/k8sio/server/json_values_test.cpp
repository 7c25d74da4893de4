// SPDX-License-Identifier: Apache-2.0
//
// What the server does with values of JSON, in time that follows their size.
#include "server/values/json.hpp"

#include <catch2/catch.hpp>

#include <string>

namespace json = signalbox::k8sio::server::json;

namespace {

json::value parsed(const std::string& text, json::arena& a) {
    json::value out;
    REQUIRE_FALSE(json::parse(out, text, a));
    return out;
}

bool are_equal(const std::string& x, const std::string& y) {
    json::arena a;
    const json::value left = parsed(x, a);
    const json::value right = parsed(y, a);
    CHECK(json::equal(left, right) == json::equal(right, left));
    CHECK(json::equal(left, right) == (left == right));
    return json::equal(left, right);
}

}  // namespace

TEST_CASE("values of JSON are equal in whatever order members stand") {
    CHECK(are_equal(R"({"a":1,"b":[{"c":null}]})", R"({"a":1,"b":[{"c":null}]})"));
    CHECK(are_equal(R"({"a":1,"b":{"c":2,"d":3},"e":4})", R"({"e":4,"b":{"d":3,"c":2},"a":1})"));
    CHECK(are_equal(R"({"a":1,"b":2,"c":3})", R"({"a":1,"c":3,"b":2})"));
    CHECK(are_equal("{}", "{}"));
    CHECK(are_equal("[1,2]", "[1.0,2]"));
    for (const char* other :
         {R"({"a":1,"b":3})",
          R"({"a":2,"b":2})",
          R"({"b":3,"a":1})",
          R"({"a":1})",
          R"({"a":1,"c":2})",
          R"({"a":1,"b":2,"c":3})",
          R"({"a":1,"b":"2"})",
          "[1,2]",
          "null"}) {
        CAPTURE(other);
        CHECK_FALSE(are_equal(R"({"a":1,"b":2})", other));
    }
    CHECK_FALSE(are_equal("[1,2]", "[2,1]"));
    CHECK_FALSE(are_equal("[1,2]", "[1,2,3]"));
    CHECK_FALSE(are_equal(R"([{"a":1}])", R"([{"a":2}])"));
}

TEST_CASE("members are taken out of an object, and the others keep their order") {
    json::arena a;
    json::value v =
        parsed(R"({"a":1,"b":2,"c":{"x":null,"y":[{"z":null,"k":1}]},"d":null,"e":5})", a);
    json::drop_nulls(v);
    CHECK(json::to_text(v) == R"({"a":1,"b":2,"c":{"y":[{"k":1}]},"e":5})");
    std::string asked;
    json::erase_members(v, [&](const json::value::Member& m) {
        asked += json::view(m.name);
        return json::view(m.name) == "a" || json::view(m.name) == "c";
    });
    CHECK(asked == "abce");
    CHECK(json::to_text(v) == R"({"b":2,"e":5})");
    json::erase_members(v, [](const json::value::Member&) { return true; });
    CHECK(json::to_text(v) == "{}");
    json::erase_members(v, [](const json::value::Member&) { return true; });
    CHECK(json::to_text(v) == "{}");
}
