// SPDX-License-Identifier: Apache-2.0
#include "progress/report_queue.hpp"

#include <catch2/catch.hpp>

#include <string>

using namespace signalbox::op::progress;
using result = report_queue::put_result;

namespace {

raw_report from(const std::string& token, const std::string& body = "x") {
    raw_report out;
    out.token = token;
    out.body = body;
    return out;
}

}  // namespace

TEST_CASE("[behaviour 13.11] of each sender the newest report waits") {
    report_queue queue;
    CHECK(queue.put(from("a", "1")) == result::first);
    CHECK(queue.put(from("b", "1")) == result::queued);
    CHECK(queue.put(from("a", "2")) == result::replaced);
    auto taken = queue.take_all();
    REQUIRE(taken.size() == 2);
    for (const raw_report& report : taken) {
        CHECK(report.body == (report.token == "a" ? "2" : "1"));
    }
    CHECK(queue.take_all().empty());
    CHECK(queue.put(from("a")) == result::first);
}

TEST_CASE("[behaviour 13.11] senders and bytes that wait have a bound") {
    report_queue few(queue_limits{.senders = 2, .bytes = 1000});
    CHECK(few.put(from("a")) == result::first);
    CHECK(few.put(from("b")) == result::queued);
    CHECK(few.put(from("c")) == result::full);
    CHECK(few.put(from("a", "newer")) == result::replaced);
    CHECK(few.put(from("a", std::string(1000, 'x'))) == result::full);
    for (int i = 0; i < 100; ++i) {
        CHECK(few.put(from("b", std::string(900, 'x'))) == result::replaced);
    }
    CHECK(few.put(from("a", std::string(200, 'x'))) == result::full);
    CHECK(few.take_all().size() == 2);
    CHECK(few.put(from("c", std::string(900, 'x'))) == result::first);
}
