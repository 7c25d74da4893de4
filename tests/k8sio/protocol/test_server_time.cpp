// SPDX-License-Identifier: Apache-2.0
#include "protocol/server_time.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::k8sio;
using namespace std::chrono_literals;
using protocol::is_api_answer;
using protocol::server_time;

namespace {

constexpr wall_time start{std::chrono::seconds{1700000000}};

/// The true time is `start` plus what has passed; clocks are off by what a test says.
struct time_fixture {
    server_time subject;
    steady_time now{};
    std::chrono::seconds local_off{0};

    wall_time truth() const {
        return start + std::chrono::duration_cast<wall_time::duration>(now.time_since_epoch());
    }
    wall_time local() const { return truth() + local_off; }
    void answer(std::chrono::seconds off) { subject.note(truth() + off, now, now, local()); }
    std::chrono::seconds error() const {
        return std::chrono::duration_cast<std::chrono::seconds>(subject.at(now, local()) - truth());
    }
    std::string notice() { return subject.take_notice().value_or("none"); }
};

http_response make(int status, std::string body) {
    http_response made;
    made.status = status;
    made.body = std::move(body);
    return made;
}

}  // namespace

TEST_CASE("[requirement R9] only answers of the API server itself tell the time") {
    CHECK(is_api_answer(make(200, R"({"kind":"Pod"})")));
    CHECK(is_api_answer(make(201, R"({"apiVersion":"v1","kind":"PodList","metadata":{}})")));
    CHECK(is_api_answer(make(404, R"({"kind":"Status","code":404})")));
    CHECK(is_api_answer(make(500, R"({"kind":"Status","code":500})")));
    CHECK_FALSE(is_api_answer(make(503, "<html>")));
    CHECK_FALSE(is_api_answer(make(503, "")));
    CHECK_FALSE(is_api_answer(make(503, R"({"error":"no backend"})")));
    CHECK_FALSE(is_api_answer(make(200, "<html>log in</html>")));
    CHECK_FALSE(is_api_answer(make(200, "{}")));
    CHECK_FALSE(is_api_answer(make(200, "")));
}

TEST_CASE_METHOD(time_fixture, "[requirement R9] up to a minute is taken from one answer") {
    answer(0s);
    CHECK(error() == 0s);
    answer(60s);
    CHECK(error() == 60s);
    answer(0s);
    CHECK(error() == 1s);  // whole seconds, cut off
    CHECK(notice() == "none");
}

TEST_CASE_METHOD(
    time_fixture, "[requirement R9] one wrong answer moves nothing, and is told of once"
) {
    const std::chrono::seconds off = GENERATE(3600s, -3600s, 61s, -61s, 86400s * 3650);
    answer(0s);
    for (int i = 0; i < 10; ++i) {
        now += 1s;
        answer(off);
        CHECK(error() == 0s);
        now += 1s;
        answer(0s);
        CHECK(error() == 0s);
    }
    CHECK(notice().find("an answer of the server is ") == 0);
    now += 1s;
    answer(off);
    CHECK(notice() == "none");
    now += 10min;
    answer(off * 2);
    CHECK(notice() != "none");
}

TEST_CASE_METHOD(
    time_fixture,
    "[requirement R9] what answers say for ten seconds without contradiction is believed"
) {
    answer(0s);
    now += 1min;
    answer(3600s);
    now += 9s;
    answer(3602s);
    CHECK(error() == 0s);
    now += 1s;
    answer(3600s);
    CHECK(error() == 3600s);
    CHECK(notice() == "the server's time has jumped by +3600 s");
    now += 1min;
    answer(3600s);
    CHECK(error() == 3600s);
}

TEST_CASE_METHOD(time_fixture, "[requirement R9] answers that do not agree are not believed") {
    answer(0s);
    for (int i = 1; i < 20; ++i) {
        now += 11s;
        answer(i * 3600s);
        CHECK(error() == 0s);
    }
}

TEST_CASE_METHOD(
    time_fixture, "[requirement R9] at the start two answers outweigh the local clock"
) {
    local_off = -7200s;
    answer(0s);
    CHECK(error() == -7200s);
    answer(0s);
    CHECK(error() == 0s);
}

TEST_CASE_METHOD(
    time_fixture, "[requirement R9] of two servers the one that the local clock confirms"
) {
    answer(3600s);
    answer(3600s);
    CHECK(error() == 3600s);
    answer(0s);
    CHECK(error() == 0s);
    CHECK(notice() == "the server's time has jumped by -3600 s");
    for (int i = 0; i < 100; ++i) {
        now += 1s;
        answer(i % 3 == 0 ? 0s : 3600s);
        CHECK(error() == 0s);
    }
}

TEST_CASE_METHOD(
    time_fixture, "[requirement R9] [behaviour 12.8] a jump of the local clock moves nothing"
) {
    answer(0s);
    local_off = 7200s;
    for (int i = 0; i < 10; ++i) {
        now += 10s;
        CHECK(error() == 0s);
        answer(0s);
    }
}
