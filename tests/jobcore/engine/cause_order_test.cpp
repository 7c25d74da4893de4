// SPDX-License-Identifier: Apache-2.0
//
// Which of several failures is named, by what messages and logs say of each (BEHAVIOUR.md 3.13).
#include "engine/jobs.hpp"
#include "jobcore/strings.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <string_view>

using namespace signalbox::core;
using signalbox::test::at;
using signalbox::test::ddp;
using signalbox::test::world;

namespace {

const std::string traceback_head = "Traceback (most recent call last):\n";
const std::string nan_error =
    traceback_head + "  File \"train.py\", line 57, in step\nValueError: NaN\n";
const std::string labels_error =
    traceback_head + "  File \"train.py\", line 12, in load\nKeyError: 'labels'\n";
const std::string closed_error =
    traceback_head +
    "  File \"train.py\", line 61, in main\nRuntimeError: Connection closed by peer\n";

/// As the API server gives a log whose lines were all written then.
std::string written_at(std::string_view time, std::string_view lines) {
    std::string out;
    while (!lines.empty()) {
        const std::size_t end = lines.find('\n') + 1;
        out += "2026-01-01T00:" + std::string(time) + "Z " + std::string(lines.substr(0, end));
        lines.remove_prefix(end);
    }
    return out;
}

std::string told_cause(const world& w) {
    REQUIRE(w.status().restarts.last);
    return w.status().restarts.last->message;
}

}  // namespace

TEST_CASE("[behaviour 3.13] an error is no cause in whose process training went on after it") {
    world w(ddp());
    w.reads_logs = true;
    w.start();
    w.to(at(115));
    w.exit("worker", 1, 1, nan_error);
    w.logs[w.pod("worker", 1).name] = written_at("01:54.900", nan_error);
    w.exit("worker", 0, 1, labels_error + closed_error);
    const bool overcome = GENERATE(true, false);
    w.logs[w.pod("worker", 0).name] =
        written_at(overcome ? "01:44.500" : "01:45.500", labels_error) +
        written_at("01:55.000", closed_error);
    w.to(at(117));
    w.settle();
    CHECK_THAT(told_cause(w), Catch::Contains(overcome ? "worker-1" : "worker-0"));
    CHECK_THAT(told_cause(w), Catch::Contains(overcome ? "ValueError: NaN" : "KeyError: 'labels'"));
}

TEST_CASE("[behaviour 3.13] of errors without a time those with consequences behind them come last"
) {
    world w(ddp());
    w.start();
    w.exit("worker", 0, 1, labels_error + closed_error);
    w.exit("worker", 1, 1, nan_error);
    w.settle();
    CHECK_THAT(told_cause(w), Catch::Contains("worker-1") && Catch::Contains("ValueError: NaN"));
}

TEST_CASE("[behaviour 3.13] what of a log is its end says nothing against the whole of it") {
    std::string failed_as_well =
        closed_error + "\nDuring handling of the above exception, another exception occurred:\n\n" +
        traceback_head;
    for (int depth = 0; depth < 60; ++depth) {
        failed_as_well += "  File \"/usr/lib/python3.11/trainer.py\", line 7, in save\n";
    }
    failed_as_well += "ValueError: nothing to save\n";
    world w(ddp());
    w.reads_logs = true;
    w.start();
    w.to(at(100));
    w.exit("worker", 0, 1, std::string(last_bytes(failed_as_well, 2048)));
    w.logs[w.pod("worker", 0).name] = written_at("01:39.900", failed_as_well);
    w.logs[w.pod("worker", 1).name] = written_at("01:38.500", nan_error);
    w.to(at(102));
    w.settle();
    CHECK_THAT(told_cause(w), Catch::Contains("worker-1") && Catch::Contains("ValueError: NaN"));
}

TEST_CASE("[behaviour 3.13] a message that names an error goes before a log that names none") {
    // A job that restarts would tell it better by the message afterwards.
    world w(ddp().run_policy("\"backoffLimit\":0"));
    w.reads_logs = true;
    w.start();
    w.to(at(100));
    w.exit("worker", 0, 1, nan_error);
    w.logs[w.pod("worker", 0).name] = written_at("01:39.900", closed_error);
    w.to(at(102));
    w.settle();
    CHECK(w.logs_read > 0);
    const condition* failed = find_condition(w.status(), "Failed");
    REQUIRE(failed != nullptr);
    CHECK_THAT(failed->message, Catch::Contains("ValueError: NaN"));
}
