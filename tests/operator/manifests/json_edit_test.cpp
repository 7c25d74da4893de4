// SPDX-License-Identifier: Apache-2.0
#include "manifests/json_edit.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::op::manifests;

TEST_CASE("a merge patch does what RFC 7386 says") {
    const struct {
        const char *target, *patch, *result;
    } table[]{
        {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
        {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
        {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
        {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
        {R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
        {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
        {R"({"a":"foo"})", R"({"a":{"b":1}})", R"({"a":{"b":1}})"},
        {R"(["c"])", R"({"a":"b","c":null})", R"({"a":"b"})"},
        {R"({"a":"foo"})", "null", "null"},
        {R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
        {R"({"a":1})", "no json", R"({"a":1})"},
        {"no json", R"({"a":1})", "no json"},
    };
    for (const auto& row : table) {
        CAPTURE(row.target, row.patch);
        CHECK(merge_patch(row.target, row.patch) == row.result);
    }
}

TEST_CASE("members are taken out and set by their pointer") {
    const char* json = R"({"a":{"b/c":1,"d":"x"},"l":[1,2]})";
    CHECK(without(json, {"/a/b~1c", "/l/0", "/none/x"}) == R"({"a":{"d":"x"},"l":[2]})");
    CHECK(without("no json", {"/a"}) == "no json");
    CHECK(string_at(json, "/a/d") == "x");
    CHECK(string_at(json, "/a/b~1c").empty());
    CHECK(string_at(json, "/none").empty());
    CHECK(with_string("{}", "/a/b", "\"1\"") == R"({"a":{"b":"\"1\""}})");
    CHECK(with_value(R"({"a":1})", "/a", R"({"n":1.50})") == R"({"a":{"n":1.5}})");
    CHECK(with_value(R"({"a":1})", "/a", "no json") == R"({"a":1})");
}
