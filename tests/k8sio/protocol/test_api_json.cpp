// SPDX-License-Identifier: Apache-2.0
#include "k8sio/base64.hpp"
#include "protocol/api_json.hpp"
#include "protocol/http_date.hpp"
#include "protocol/json_cursor.hpp"
#include "protocol/printable.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::k8sio;
using namespace signalbox::k8sio::protocol;

TEST_CASE("[requirement L6] items get apiVersion and kind where they lack them") {
    list_page page;
    REQUIRE(read_list(
        R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"t",)"
        R"("remainingItemCount":3},"items":[{"metadata":{"name":"}]\"{"}},{},)"
        R"({"kind":"Other","apiVersion":"v2","a":1} , { "kind":"Pod" }]})",
        resources::pods(),
        page
    ));
    CHECK(page.resource_version == "7");
    CHECK(page.continue_token == "t");
    CHECK(
        page.items ==
        std::vector<std::string>{
            R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"}]\"{"}})",
            R"({"apiVersion":"v1","kind":"Pod"})",
            R"({"kind":"Other","apiVersion":"v2","a":1})",
            R"({"apiVersion":"v1", "kind":"Pod" })"}
    );
}

TEST_CASE("[requirement L5] null items are an empty list") {
    list_page page;
    REQUIRE(read_list(
        R"({"items":null,"kind":"PodList","metadata":{"resourceVersion":"7"}})",
        resources::pods(),
        page
    ));
    CHECK(page.items.empty());
}

TEST_CASE("[requirement T14] a list cut at every position is no list") {
    const std::string body =
        R"({"kind":"PodList","metadata":{"resourceVersion":"7"},"items":[{"a":"\u00e4"},{"b":[1]}]})";
    list_page page;
    REQUIRE(read_list(body, resources::pods(), page));
    for (std::size_t size = 0; size < body.size(); ++size) {
        list_page cut;
        INFO(size);
        CHECK_FALSE(read_list(body.substr(0, size), resources::pods(), cut));
    }
    for (const char* other :
         {R"({"kind":"Status","items":[]})",
          R"({"kind":"Table","items":[]})",
          "[]",
          "null",
          R"({"kind":"PodList","items":{}})",
          R"({"kind":"PodList","items":[1]})",
          R"({"kind":"PodList","items":[]} x)"}) {
        list_page none;
        INFO(other);
        CHECK_FALSE(read_list(other, resources::pods(), none));
    }
}

TEST_CASE("[requirement T5] strings are decoded with all escapes, and written back") {
    std::string out;
    REQUIRE(decode_json_string(R"("a\"\\\/\b\f\n\r\t\u0041\u00e4\u20ac\ud83d\ude82")", out));
    CHECK(out == "a\"\\/\b\f\n\r\tA\xC3\xA4\xE2\x82\xAC\xF0\x9F\x9A\x82");
    for (const char* bad :
         {R"("\x")",
          R"("\u12")",
          R"("\ud83d")",
          R"("\ud83dx")",
          R"("\ude82")",
          R"("\ud83d\u0041")"}) {
        INFO(bad);
        CHECK_FALSE(decode_json_string(bad, out));
    }
    std::string text;
    const std::string original("q\"\\\n\x01\x1f\xC3\xA4", 8);
    append_json_string(text, original);
    CHECK(text == "\"q\\\"\\\\\\n\\u0001\\u001f\xC3\xA4\"");
    REQUIRE(decode_json_string(text, out));
    CHECK(out == original);
}

TEST_CASE("[requirement T5] a string ends with the first quote that is not escaped") {
    for (std::size_t slashes = 0; slashes < 6; ++slashes) {
        CAPTURE(slashes);
        const std::string front = "\"a" + std::string(slashes, '\\') + "\"";
        const std::string all = front + "\\\",\"";
        json_cursor cursor(all);
        CHECK(cursor.skip() == (slashes % 2 == 0 ? front : all));
        // One that is not closed.
        json_cursor open(front);
        CHECK(open.skip() == (slashes % 2 == 0 ? front : ""));
    }
    json_cursor at_once(R"("","\"")");
    CHECK(at_once.skip() == R"("")");
}

TEST_CASE("[requirement T14] the cursor refuses what is no JSON") {
    for (const char* bad :
         {"",
          "{",
          "}",
          "{]",
          R"({"a")",
          R"({"a":)",
          R"({"a":1]})",
          "[1}",
          "nul\"",
          R"({"a":"x)",
          "{}{}",
          "[[[[",
          "\"\\"}) {
        INFO(bad);
        CHECK_FALSE(is_json_object(bad));
    }
    CHECK(is_json_object(" {\"a\":[{},\"}\"]} \n"));
    object_facts facts;
    for (const char* bad :
         {R"({"a":1,})", R"({"a" 1})", R"({"a":1 "b":2})", R"({1:2})", R"({,})"}) {
        INFO(bad);
        CHECK_FALSE(read_object_facts(bad, facts));
    }
    const std::string deep(2000000, '[');
    CHECK_FALSE(is_json_object(deep));  // no recursion: no stack to overflow
}

TEST_CASE("[requirement C7] a plain text is a number of JSON, a truth value, null or none of these"
) {
    for (const char* scalar :
         {"0", "-0", "10", "-7.25", "0.5", "1e9", "1E+9", "2.5e-3", "true", "false", "null"}) {
        INFO(scalar);
        CHECK(is_json_scalar(scalar));
    }
    for (const char* text :
         {"",   "-",  "+1",  "010", "00",  "-01",  ".5",   "1.",    "1e",  "1e+",   "1.e5", "0x10",
          "1 ", " 1", "1_0", "inf", "nan", "True", "NULL", "1.2.3", "1-2", "trues", "--1"}) {
        INFO(text);
        CHECK_FALSE(is_json_scalar(text));
    }
}

TEST_CASE("[requirement W4] an event's type, object and version, in any order of members") {
    watch_event event;
    REQUIRE(read_watch_event(
        R"({"object":{"metadata":{"name":"a","resourceVersion":"9"},"kind":"Pod"},"type":"ADDED"})",
        event
    ));
    CHECK(event.type == event_type::added);
    CHECK(event.facts.kind == "Pod");
    CHECK(event.facts.resource_version == "9");
    watch_event none;
    CHECK_FALSE(read_watch_event(R"({"type":"ADDED"})", none));
    CHECK_FALSE(read_watch_event(R"({"object":{}})", none));
    CHECK_FALSE(read_watch_event(R"({"type":"ADDED","object":null})", none));
}

TEST_CASE("[requirement C5] base64 with padding, line ends and errors") {
    for (const char* text : {"", "a", "ab", "abc", "abcd"}) {
        CHECK(base64_decode(base64_encode(text)) == std::string(text));
    }
    CHECK(base64_encode("user:pass") == "dXNlcjpwYXNz");
    CHECK(base64_decode("dXNl\n cjpwYXNz\r\n") == "user:pass");
    for (const char* bad :
         {"dXN",
          "dXN*",
          "=",
          "====",
          "d===",
          "dXN=dXNl",
          "dX==dXNl",
          "dXNldXNl----",
          "-dXNldXN",
          "dXNlcjp-"}) {
        INFO(bad);
        CHECK_FALSE(base64_decode(bad));
    }
}

TEST_CASE("[requirement R8] the Date header, and times as the API has them") {
    const auto time = parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT");
    REQUIRE(time);
    CHECK(format_api_time(*time) == "1994-11-06T08:49:37Z");
    CHECK(format_api_time(*time + std::chrono::milliseconds{999}) == "1994-11-06T08:49:37Z");
    for (const char* bad :
         {"",
          "Sun, 06 Nov 1994 08:49:37 CET",
          "Sun, 31 Feb 1994 08:49:37 GMT",
          "Sun, 06 Xxx 1994 08:49:37 GMT",
          "Sun, 06 Nov 1994 24:49:37 GMT",
          "Sun, 06 ovD 1994 08:49:37 GMT",
          "Sunday, 06-Nov-94 08:49:37 GMT",
          "Sun, 06 Nov 1994 08:49:60 GMT",
          "Mon, 06 Nov 1994 08:49:37 GMT",
          "Sun.06.Nov.1994.08:49:37 GMT",
          "XXX,X06XNovX1994X08:49:37 GMT",
          "Fri, 11 Apr 2262 23:47:17 GMT",
          "Fri, 31 Dec 9999 23:59:59 GMT",
          "Sat, 01 Jan 0000 00:00:00 GMT"}) {
        INFO(bad);
        CHECK_FALSE(parse_http_date(bad));
    }
    const auto last = parse_http_date("Tue, 31 Dec 2261 23:59:59 GMT");
    REQUIRE(last);
    CHECK(format_http_date(*last) == "Tue, 31 Dec 2261 23:59:59 GMT");
    CHECK(
        format_http_date(*time + std::chrono::milliseconds{999}) == "Sun, 06 Nov 1994 08:49:37 GMT"
    );
}

TEST_CASE("[requirement C7] a time of the API, with fraction and offset") {
    const wall_time time{std::chrono::seconds{784111777}};
    CHECK(parse_api_time("1994-11-06T08:49:37Z") == time);
    CHECK(parse_api_time("1994-11-06T08:49:37.5Z") == time + std::chrono::milliseconds{500});
    CHECK(parse_api_time("1994-11-06T08:49:37.0000000019Z") == time + std::chrono::nanoseconds{1});
    CHECK(parse_api_time("1994-11-06T10:19:37+01:30") == time);
    CHECK(parse_api_time("1994-11-05T23:49:37-09:00") == time);
    CHECK(parse_api_time("9999-12-31T23:59:59Z") == wall_time::max());
    CHECK(parse_api_time("0001-01-01T00:00:00Z") == wall_time::min());
    for (const char* bad :
         {"",
          "1994-11-06",
          "1994-11-06T08:49:37",
          "1994-11-06 08:49:37Z",
          "1994-11-06T08:49:37.Z",
          "1994-11-06T08:49:37.5",
          "1994-11-06T08:49:37+0100",
          "1994-11-06T08:49:37+24:00",
          "1994-11-06T08:49:37ZZ",
          "1994-13-06T08:49:37Z",
          "1994-11-31T08:49:37Z",
          "1994-11-06T24:00:00Z",
          "1994-11-06T08:60:00Z",
          "1994-11-06T08:49:60Z",
          "1994-11-06T08:49:61Z",
          "1994/11/06T08:49:37Z",
          "+994-11-06T08:49:37Z"}) {
        INFO(bad);
        CHECK_FALSE(parse_api_time(bad));
    }
}

TEST_CASE("[requirement C7] [requirement T14] what others say is one line, in UTF-8") {
    CHECK(printable(" a\r\n\tb \x1b[31mred\x7f ", 100) == "a b [31mred");
    CHECK(printable("a\xC3\xA4\xE2\x80\xA8z\xC2\x85y", 100) == "a\xC3\xA4 z y");
    CHECK(
        printable("\xFF\xC3(\xED\xA0\x80\xF0\x9F\x9A\x82\xE2\x82", 100) ==
        std::string(2, '?') + "(" + std::string(3, '?') + "\xF0\x9F\x9A\x82" + std::string(2, '?')
    );
    CHECK(printable(std::string_view("a\0b", 3), 100) == "a b");
    CHECK(printable("", 100).empty());
    for (std::size_t limit = 0; limit < 8; ++limit) {
        CHECK(
            printable("\xC3\xA4 \xC3\xA4\xC3\xA4", limit) ==
            std::string("\xC3\xA4 \xC3\xA4\xC3\xA4")
                .substr(0, std::array<std::size_t, 8>{0, 0, 2, 2, 2, 5, 5, 7}[limit])
        );
    }
}
