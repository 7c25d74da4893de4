// SPDX-License-Identifier: Apache-2.0
//
// Times that clients send to the embedded server, and ages that it shows.
#include "server/values/times.hpp"

#include "server/schema/schema.hpp"

#include <catch2/catch.hpp>

#include <cstdint>
#include <string>

namespace signalbox::k8sio::server {
namespace {

/// Whether an object whose schema asks for a date-time may hold `text`.
bool is_accepted(const std::string& text) {
    json::arena a;
    json::value schema;
    json::parse(schema, R"({"type":"string","format":"date-time"})", a);
    problems found;
    schema_node::compile(schema)->validate(json::make_string(text, a), "spec.time", found);
    return found.empty();
}

}  // namespace

TEST_CASE("[requirement A7] a date-time is one of RFC 3339") {
    for (const char* good :
         {"1994-11-06T08:49:37Z",
          "1994-11-06t08:49:37z",
          "1994-11-06T08:49:37.123456789Z",
          "1994-11-06T08:49:37+01:30",
          "0001-01-01T00:00:00Z",
          "9999-12-31T23:59:59Z"}) {
        INFO(good);
        CHECK(is_accepted(good));
    }
    for (const char* bad :
         {"",
          "1994-11-06",
          "1994-11-06X08:49:37Z",
          "1994/11/06T08:49:37Z",
          "1994-11-06T08.49.37Z",
          "1994-11-06T24:49:37Z",
          "1994-11-06T08:60:37Z",
          "1994-11-06T08:49:60Z",
          "1994-11-06T08:49:37.Z",
          "1994-11-06T08:49:37",
          "1994-11-06T08:49:37Zx",
          "1994-11-06T08:49:37+01:30x",
          "1994-11-06T08:49:37+0130",
          "1994-02-29T08:49:37Z"}) {
        INFO(bad);
        CHECK_FALSE(is_accepted(bad));
    }
}

TEST_CASE("[requirement A9] an age in the units that its length asks for") {
    struct row {
        std::int64_t seconds;
        const char* expected;
    };
    const std::int64_t hour = 3600;
    const std::int64_t day = 24 * hour;
    const row rows[] = {
        {119, "119s"},
        {120, "2m"},
        {200, "3m20s"},
        {599, "9m59s"},
        {600, "10m"},
        {3 * hour - 1, "179m"},
        {3 * hour, "3h"},
        {3 * hour + 60, "3h1m"},
        {8 * hour, "8h"},
        {2 * day - 1, "47h"},
        {2 * day, "2d"},
        {2 * day + hour, "2d1h"},
        {8 * day, "8d"},
        {8 * day + hour, "8d"},
        {2 * 365 * day, "2y0d"},
        {2 * 365 * day - 1, "729d"},
    };
    const char* made = "1994-11-06T08:49:37Z";
    for (const row& r : rows) {
        INFO(r.seconds);
        CHECK(age(made, wall_time{std::chrono::seconds{784111777 + r.seconds}}) == r.expected);
    }
}

TEST_CASE("the age of what was made in the past, at no time, or in the future") {
    const wall_time now{std::chrono::seconds{784111777}};
    CHECK(age("1994-11-06T08:49:32Z", now) == "5s");
    CHECK(age("1994-11-06T08:49:32.5Z", now + std::chrono::milliseconds{400}) == "4s");
    CHECK(age("1994-11-06T06:49:37Z", now) == "120m");
    CHECK(age("1678-01-01T00:00:00Z", now) == "317y20d");
    CHECK(age("1994-11-06T08:49:38Z", now) == "0s");
    CHECK(age("9999-12-31T23:59:59Z", now) == "<invalid>");
    for (const char* none : {"", "0001-01-01T00:00:00Z"}) {
        INFO(none);
        CHECK(age(none, now) == "<unknown>");
    }
    for (const char* no_time : {"yesterday", "1994-11-06T08:49:32"}) {
        INFO(no_time);
        CHECK(age(no_time, now) == "<invalid>");
    }
}

}  // namespace signalbox::k8sio::server
