// SPDX-License-Identifier: Apache-2.0
#include "client/scripted_transport.hpp"
#include "k8sio/event_recorder.hpp"
#include "protocol/event_series.hpp"
#include "protocol/http_date.hpp"
#include "protocol/json_cursor.hpp"
#include "protocol/printable.hpp"
#include "runtime/virtual_loop.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <set>

using namespace signalbox::k8sio;
using namespace std::chrono_literals;

namespace {

event_note note(const std::string& message, const std::string& reason = "Created") {
    event_note made;
    made.regarding.api_version = "v1";
    made.regarding.kind = "Pod";
    made.regarding.ns = "a";
    made.regarding.name = "p";
    made.regarding.uid = "u";
    made.reason = reason;
    made.message = message;
    return made;
}

struct recorder_fixture {
    recorder_fixture()
        : transport(loop.time), api(transport, loop.time), subject(api, "signalbox", 3) {
        transport.on_exchange = [this](const http_request&) { return reply; };
    }
    std::vector<std::string> sent() const {
        std::vector<std::string> out;
        for (const http_request& request : transport.requests) {
            out.push_back(request.method + " " + request.target);
        }
        return out;
    }

    test::virtual_loop loop;
    test::scripted_transport transport;
    client api;
    event_recorder subject;
    result<http_response> reply = test::answer(201, R"({"kind":"Event"})");
};

}  // namespace

TEST_CASE("[requirement N1] a repeated event is counted on the first one") {
    protocol::event_series series("signalbox");
    const wall_time now{std::chrono::seconds{1700000000}};
    const auto first = series.next(note("m"), now);
    CHECK(first.create);
    CHECK(first.ns == "a");
    CHECK(first.name == "p.17979cfe362a0000");
    CHECK(protocol::is_json_object(first.body));
    CHECK(
        first.body ==
        R"({"apiVersion":"v1","kind":"Event","metadata":{"name":"p.17979cfe362a0000",)"
        R"("namespace":"a"},"involvedObject":{"apiVersion":"v1","kind":"Pod","namespace":"a",)"
        R"("name":"p","uid":"u"},"source":{"component":"signalbox"},)"
        R"("reportingComponent":"signalbox","type":"Normal","reason":"Created","message":"m",)"
        R"("firstTimestamp":"2023-11-14T22:13:20Z","lastTimestamp":"2023-11-14T22:13:20Z",)"
        R"("count":1})"
    );
    const auto second = series.next(note("m"), now + 9min);
    CHECK_FALSE(second.create);
    CHECK(second.name == first.name);
    CHECK(second.body == R"({"count":2,"lastTimestamp":"2023-11-14T22:22:20Z"})");
    CHECK(series.next(note("m"), now + 18min).body.find("\"count\":3") != std::string::npos);
    CHECK(series.next(note("m"), now + 29min).create);  // after 10 quiet minutes a new one
}

TEST_CASE("[requirement N1] another object, reason, message or type is another event") {
    protocol::event_series series("signalbox");
    const wall_time now{};
    std::set<std::string> names;
    std::vector<event_note> notes(6, note("m"));
    notes[1].regarding.uid = "v";
    notes[2].reason = "Deleted";
    notes[3].message = "n";
    notes[4].warning = true;
    notes[5].regarding.name = "q";
    for (const event_note& n : notes) {
        const auto write = series.next(n, now);
        CHECK(write.create);
        names.insert(write.name);
    }
    CHECK(names.size() == notes.size());  // also at the same instant
}

TEST_CASE("[requirement N1] the memory of events is bounded, the least used goes first") {
    protocol::event_series series("signalbox", 2);
    const wall_time now{};
    series.next(note("a"), now);
    series.next(note("b"), now);
    series.next(note("a"), now);
    series.next(note("c"), now);
    CHECK_FALSE(series.next(note("a"), now).create);
    CHECK(series.next(note("b"), now).create);
}

TEST_CASE("[requirement N1] what nothing is counted on any more is forgotten") {
    protocol::event_series series("signalbox");
    const wall_time now{};
    series.next(note("a"), now);
    series.next(note("b"), now + 5min);
    series.next(note("a"), now + 10min);
    CHECK(series.remembered() == 2);
    series.next(note("c"), now + 15min);
    CHECK(series.remembered() == 3);
    series.next(note("c"), now + 20min);
    CHECK_FALSE(series.next(note("a"), now + 20min).create);
    series.next(note("d"), now + 21min);
    CHECK(series.remembered() == 3);
    series.forget(note("d"));
    CHECK(series.remembered() == 2);
    CHECK(series.next(note("d"), now + 21min).create);
}

TEST_CASE("[requirement N3] events of cluster objects go to the namespace default") {
    protocol::event_series series("signalbox");
    event_note about_node = note("m");
    about_node.regarding.ns.clear();
    const auto write = series.next(about_node, {});
    CHECK(write.ns == "default");
    CHECK(
        write.body.find(R"("namespace":"default"},"involvedObject":{"apiVersion":"v1","kind")") !=
        std::string::npos
    );
}

TEST_CASE("[requirement N4] messages are cut to 1,023 bytes at a character, reasons to 128") {
    CHECK(protocol::cut_utf8("abc", 3) == "abc");
    CHECK(protocol::cut_utf8("a\xC3\xA4", 2) == "a");
    CHECK(protocol::cut_utf8("\xF0\x9F\x9A\x82", 3).empty());
    protocol::event_series series("signalbox");
    event_note long_note = note(std::string(2000, 'm'), std::string(500, 'r'));
    long_note.regarding.name = std::string(253, 'n');
    const auto write = series.next(long_note, {});
    CHECK(write.name.size() <= 253);
    CHECK(write.name.substr(0, 200) == std::string(200, 'n'));
    CHECK(write.body.find("\"message\":\"" + std::string(1023, 'm') + "\",") != std::string::npos);
    CHECK(write.body.find("\"reason\":\"" + std::string(128, 'r') + "\",") != std::string::npos);
}

TEST_CASE_METHOD(
    recorder_fixture, "[requirement N2] a full queue drops and counts; nothing blocks"
) {
    for (int i = 0; i < 5; ++i) {
        subject.record(note("m" + std::to_string(i)));
    }
    CHECK(subject.dropped() == 2);
    CHECK_FALSE(subject.idle());
    test::task<void> running(loop, subject.run());
    loop.settle();
    CHECK(subject.idle());
    CHECK(
        sent() ==
        std::vector<std::string>(3, "POST /api/v1/namespaces/a/events?fieldManager=signalbox")
    );
    CHECK(subject.last_error().find("the oldest of the least important") != std::string::npos);
    subject.record(note("m4"));
    loop.settle();
    CHECK(sent().back().substr(0, 5) == "PATCH");
    subject.stop();
    loop.settle();
    CHECK(running.done);
    CHECK_FALSE(loop.time.has_pending());
}

TEST_CASE_METHOD(
    recorder_fixture, "[requirement N2] no connection: at most 12 tries, then dropped"
) {
    reply = test::failure(errc::connection_lost);
    subject.record(note("m"));
    test::task<void> running(loop, subject.run());
    loop.run_for(10min);
    CHECK(transport.requests.size() == 12);
    CHECK(subject.dropped() == 1);
    CHECK(subject.idle());
    // The Event may exist or not: its name is fixed, so trying again makes no second one.
    CHECK(transport.requests.front().body == transport.requests.back().body);
    subject.stop();
    loop.settle();
    CHECK(running.done);
}

TEST_CASE_METHOD(recorder_fixture, "[requirement N2] a refusal is not repeated") {
    reply = test::answer(403, R"({"kind":"Status","reason":"Forbidden"})");
    subject.record(note("m"));
    test::task<void> running(loop, subject.run());
    loop.run_for(10min);
    CHECK(transport.requests.size() == 1);
    CHECK(subject.dropped() == 1);
    subject.stop();
    loop.settle();
    CHECK(running.done);
}

TEST_CASE_METHOD(
    recorder_fixture, "[requirement N3] a namespace that is terminating or gone is silent"
) {
    const std::string which =
        GENERATE(as<std::string>(), "terminating", "gone", "written already, the answer was lost");
    INFO(which);
    if (which == "terminating") {
        reply = test::answer(
            403, R"({"kind":"Status","details":{"causes":[{"reason":"NamespaceTerminating"}]}})"
        );
    }
    if (which == "gone") {
        reply = test::answer(404, R"({"kind":"Status","reason":"NotFound"})");
    }
    if (which == "written already, the answer was lost") {
        reply = test::answer(409, R"({"kind":"Status","reason":"AlreadyExists"})");
    }
    subject.record(note("m"));
    test::task<void> running(loop, subject.run());
    loop.run_for(1min);
    CHECK(transport.requests.size() == 1);
    CHECK(subject.dropped() == 0);
    subject.stop();
    loop.settle();
    CHECK(running.done);
}

TEST_CASE_METHOD(
    recorder_fixture, "[requirement N1] an Event that has expired on the server is created anew"
) {
    subject.record(note("m"));
    test::task<void> running(loop, subject.run());
    loop.settle();
    transport.on_exchange = [](const http_request& request) -> result<http_response> {
        if (request.method == "PATCH") {
            return test::answer(404, R"({"kind":"Status","reason":"NotFound"})");
        }
        return test::answer(201, R"({"kind":"Event"})");
    };
    subject.record(note("m"));
    loop.settle();
    REQUIRE(transport.requests.size() == 3);
    CHECK(transport.requests[2].method == "POST");
    CHECK(subject.dropped() == 0);
    subject.stop();
    loop.settle();
    CHECK(running.done);
}

TEST_CASE_METHOD(recorder_fixture, "[requirement H1] stop flushes the queue, but not forever") {
    SECTION("all goes well") {
        subject.record(note("a"));
        subject.record(note("b"));
        subject.stop();
        test::run(loop, subject.run());
        CHECK(transport.requests.size() == 2);
    }
    SECTION("the server does not answer") {
        reply = test::answer(429, "{}");
        reply->headers.emplace_back("Retry-After", "20");
        subject.record(note("a"));
        test::task<void> running(loop, subject.run());
        loop.settle();
        const auto start = loop.time.steady_now();
        subject.stop();
        CHECK(loop.run_until([&] { return running.done; }));
        CHECK(loop.time.steady_now() - start <= 3s);
    }
    CHECK_FALSE(loop.time.has_pending());
}

TEST_CASE_METHOD(
    recorder_fixture, "[requirement N2] [requirement H1] what is left at the end is counted"
) {
    reply = test::failure(errc::connection_lost);
    for (const char* message : {"a", "b", "c"}) {
        subject.record(note(message));
    }
    test::task<void> running(loop, subject.run());
    loop.run_for(1s);
    SECTION("after stop") {
        transport.on_exchange = [&](const http_request&) -> result<http_response> {
            loop.time.advance(4s);  // more than there is
            return reply;
        };
        subject.stop();
        loop.run_for(20s);
        CHECK(running.done);
    }
    SECTION("cancelled") {
        running.cancel();
        loop.settle();
        CHECK(running.done);
    }
    CHECK(subject.dropped() == 3);
    CHECK(subject.idle());
}

namespace {

event_note told(std::string ns, std::string name, std::string reason) {
    event_note made = note("m", reason);
    made.regarding.ns = std::move(ns);
    made.regarding.uid = name;
    made.regarding.name = std::move(name);
    return made;
}

/// With a queue as the operator has it.
struct burst_fixture {
    burst_fixture() : transport(loop.time), api(transport, loop.time), subject(api, "signalbox") {
        transport.latency = 40ms;
        transport.on_exchange = [this](const http_request& request) -> result<http_response> {
            if (request.target.find("/namespaces/broken/") != std::string::npos) {
                return test::answer(500, R"({"kind":"Status","reason":"InternalError"})");
            }
            ++written[request.target];
            last = loop.time.steady_now();
            return test::answer(201, R"({"kind":"Event"})");
        };
    }
    ~burst_fixture() {
        subject.stop();
        loop.run_for(5s);
    }

    test::virtual_loop loop;
    test::scripted_transport transport;
    client api;
    event_recorder subject;
    std::map<std::string, int> written;
    steady_time last;
    test::task<void> running{loop, subject.run()};
};

constexpr const char* in_a = "/api/v1/namespaces/a/events?fieldManager=signalbox";

}  // namespace

TEST_CASE_METHOD(burst_fixture, "[requirement N6] a burst of 300 jobs is written whole") {
    const char* const reasons[] = {"Created", "NewReplica", "Start", "Running", "Succeeded"};
    for (int job = 0; job < 300; ++job) {
        for (const char* reason : reasons) {
            subject.record(told("a", std::to_string(job), reason));
        }
        loop.run_for(20ms);
    }
    loop.run_for(6s);
    CHECK(subject.dropped() == 0);
    CHECK(written[in_a] == 1500);
}

TEST_CASE_METHOD(
    burst_fixture, "[requirement N6] a namespace whose events get 500 holds up no others"
) {
    for (int job = 0; job < 30; ++job) {
        subject.record(told("broken", std::to_string(job), "Created"));
    }
    loop.run_for(10min);  // meanwhile it is known to be in trouble
    const steady_time start = loop.time.steady_now();
    for (int job = 0; job < 30; ++job) {
        subject.record(told("broken", std::to_string(job), "Running"));
        subject.record(told("a", std::to_string(job), "Running"));
    }
    loop.run_for(10s);
    CHECK(written[in_a] == 30);
    CHECK(last - start < 1s);
}

TEST_CASE_METHOD(
    burst_fixture, "[requirement N2] an Event has the time at which it was told, not written"
) {
    transport.on_exchange = [](const http_request&) -> result<http_response> {
        return test::failure(errc::connection_lost);
    };
    const std::string now = protocol::format_api_time(api.server_now());
    subject.record(told("a", "p", "Succeeded"));
    loop.run_for(30s);
    REQUIRE(transport.requests.size() > 1);
    CHECK(transport.requests.back().body.find("\"lastTimestamp\":\"" + now) != std::string::npos);
}

TEST_CASE_METHOD(
    burst_fixture, "[requirement N2] the end of a job is told also after an outage of many minutes"
) {
    const auto answers = transport.on_exchange;
    transport.on_exchange = [](const http_request&) -> result<http_response> {
        return test::failure(errc::connection_lost);
    };
    event_note end = told("a", "p", "Succeeded");
    end.rank = event_rank::end;
    subject.record(end);
    subject.record(told("a", "q", "Running"));
    loop.run_for(50min);
    CHECK(subject.dropped() == 1);
    transport.on_exchange = answers;
    loop.run_for(11s);
    CHECK(written[in_a] == 1);
    CHECK(subject.dropped() == 1);
    CHECK(subject.idle());
}
