// SPDX-License-Identifier: Apache-2.0
#include "protocol/reflector_fsm.hpp"
#include "runtime/recording_sink.hpp"

#include <catch2/catch.hpp>

#include <set>
#include <sstream>

using namespace signalbox::k8sio;
using namespace std::chrono_literals;
using protocol::reflector_action;
using protocol::reflector_fsm;
using test::event;
using test::page;
using test::pod;
using kind = reflector_action::kind;

namespace {

api_error status(int code, std::string reason = "") {
    api_error error;
    error.http_status = code;
    error.reason = std::move(reason);
    return error;
}

api_error broken(errc code) {
    api_error error;
    error.code = code;
    return error;
}

std::string error_event(int code, const std::string& more = "") {
    return event(
        "ERROR", R"({"kind":"Status","apiVersion":"v1","code":)" + std::to_string(code) + more + "}"
    );
}

struct fixture {
    fixture() : fsm(resources::pods(), sink, options()) {}

    static reflector_options options() {
        reflector_options made;
        made.page_size = 2;
        made.label_selector = "a=b";
        return made;
    }
    /// The next action as text.
    std::string next() {
        last = fsm.next(now);
        std::ostringstream out;
        out << last;
        return out.str();
    }
    /// Expects a sleep within [shortest, longest] and lets that time pass.
    void sleeps(std::chrono::nanoseconds shortest, std::chrono::nanoseconds longest) {
        INFO(next());
        REQUIRE(last.what == kind::sleep);
        CHECK(last.wait >= shortest);
        CHECK(last.wait <= longest);
        now += std::chrono::duration_cast<steady_time::duration>(last.wait);
    }
    void list_done(const std::string& version = "100") {
        REQUIRE(next().substr(0, 4) == "list");
        fsm.on_list(now, page({pod("a", "5")}, version));
    }
    void watching(const std::string& version = "100") {
        REQUIRE(next() == "watch(" + version + ")");
        fsm.on_watch_open(now);
    }
    bool feed(const std::string& bytes) { return fsm.on_bytes(now, bytes); }

    test::recording_sink sink;
    reflector_fsm fsm;
    steady_time now{};
    reflector_action last;
};

}  // namespace

TEST_CASE_METHOD(
    fixture, "[requirement L3] [requirement L4] a list of three pages replaces the store once"
) {
    CHECK(next() == "list(limit=2 continue= version=)");
    fsm.on_list(now, page({pod("a", "1"), pod("b", "2")}, "100", "t1"));
    CHECK(sink.held.empty());
    CHECK(next() == "list(limit=2 continue=t1 version=)");
    fsm.on_list(now, page({pod("c", "3")}, "100", "t2"));
    CHECK(sink.held.empty());
    CHECK_FALSE(fsm.synced());
    CHECK(next() == "list(limit=2 continue=t2 version=)");
    fsm.on_list(now, page({pod("d", "4")}, "100"));
    CHECK(sink.log == "begin item:a item:b item:c item:d end:100 ");
    CHECK(fsm.synced());
    CHECK(fsm.counters().lists == 1);
    CHECK(next() == "watch(100)");
}

TEST_CASE_METHOD(fixture, "[requirement V3] the watch resumes at the list's version, no item's") {
    next();
    fsm.on_list(now, page({pod("a", "999")}, "100"));
    CHECK(next() == "watch(100)");
}

TEST_CASE_METHOD(fixture, "[requirement V7] the first list asks for the most recent state") {
    next();
    CHECK(last.list.resource_version.empty());
    CHECK(last.list.label_selector == "a=b");
}

TEST_CASE_METHOD(fixture, "[requirement L2] 410 between pages starts again with one whole list") {
    next();
    fsm.on_list(now, page({pod("a", "1")}, "100", "t1"));
    next();
    fsm.on_list(now, status(410, "Expired"));
    CHECK(sink.log == "begin item:a abort ");
    CHECK(next() == "list(limit=0 continue= version=)");
    fsm.on_list(now, page({pod("b", "1")}, "101"));
    CHECK(sink.held.count("b") == 1);
    CHECK(next() == "watch(101)");
}

TEST_CASE_METHOD(
    fixture, "[requirement L1] after 410 the version is asked on the first page only"
) {
    list_done();
    watching();
    REQUIRE(feed(event("ADDED", pod("b", "150"))));
    now += 200ms;
    REQUIRE_FALSE(feed(error_event(410)));
    CHECK(next() == "list(limit=2 continue= version=150)");
    fsm.on_list(now, page({}, "150", "t"));
    CHECK(next() == "list(limit=2 continue=t version=)");
}

TEST_CASE_METHOD(
    fixture, "[requirement L4] a list that fails half way leaves the store as it was"
) {
    list_done();
    watching();
    feed(event("BOOKMARK", pod("", "120")));
    feed(error_event(410));
    sleeps(800ms, 1600ms);
    next();
    fsm.on_list(now, page({pod("z", "1")}, "130", "t"));
    next();
    fsm.on_list(now, broken(errc::connection_lost));
    CHECK(sink.held.count("a") == 1);
    CHECK(sink.held.count("z") == 0);
    sleeps(1600ms, 3200ms);
    CHECK(next().substr(0, 4) == "list");
}

TEST_CASE_METHOD(
    fixture, "[requirement W4] an ERROR event 410 lists at the last version, then unset"
) {
    list_done();
    watching();
    feed(event("MODIFIED", pod("a", "101")));
    now += 200ms;
    CHECK_FALSE(feed(error_event(410, R"(,"reason":"Expired")")));
    CHECK(next() == "list(limit=2 continue= version=101)");
    fsm.on_list(now, status(410, "Expired"));
    CHECK(next() == "list(limit=2 continue= version=)");
}

TEST_CASE_METHOD(fixture, "[requirement W4] a storm of 410 is slowed down") {
    list_done();
    watching();
    CHECK_FALSE(feed(error_event(410)));
    sleeps(800ms, 1600ms);
    list_done();
    watching();
    CHECK_FALSE(feed(error_event(410)));
    sleeps(1600ms, 3200ms);
}

TEST_CASE_METHOD(fixture, "[requirement W5] 410 as the status of the watch lists again") {
    list_done();
    REQUIRE(next() == "watch(100)");
    fsm.on_watch_error(now, status(410, "Gone"));
    sleeps(800ms, 1600ms);
    CHECK(next() == "list(limit=2 continue= version=100)");
}

TEST_CASE_METHOD(fixture, "[requirement W4] 429 waits as told and keeps the version") {
    const std::string which =
        GENERATE(as<std::string>(), "as an event", "as a status, clamped to 30 s");
    INFO(which);
    list_done();
    watching();
    if (which == "as an event") {
        feed(error_event(429, R"(,"details":{"retryAfterSeconds":7})"));
        sleeps(7s, 7800ms);
    }
    if (which == "as a status, clamped to 30 s") {
        api_error error = status(429);
        error.retry_after = 500s;
        fsm.on_watch_error(now, error);
        sleeps(30s, 30800ms);
    }
    CHECK(next() == "watch(100)");
    CHECK(fsm.counters().lists == 1);
}

TEST_CASE_METHOD(fixture, "[requirement W6] a lost connection backs off and does not list again") {
    list_done();
    std::chrono::nanoseconds expected = 800ms;
    for (int i = 0; i < 10; ++i) {
        REQUIRE(next() == "watch(100)");
        const errc codes[] = {errc::connect, errc::connection_lost, errc::resolve, errc::tls};
        fsm.on_watch_error(now, i % 5 == 4 ? status(503) : broken(codes[i % 5]));
        sleeps(expected, 2 * expected);
        expected = std::min<std::chrono::nanoseconds>(expected * 2, 30s);
    }
    CHECK(fsm.counters().lists == 1);
    CHECK(fsm.synced());
}

TEST_CASE_METHOD(
    fixture, "[requirement R6] the backoff has jitter and starts anew when all was quiet"
) {
    list_done();
    std::set<std::int64_t> waits;
    for (int i = 0; i < 5; ++i) {
        watching();
        fsm.on_watch_error(now, broken(errc::connection_lost));
        now += 3min;
        next();
        CHECK(last.wait >= 800ms);
        CHECK(last.wait <= 1600ms);
        waits.insert(last.wait.count());
    }
    CHECK(waits.size() > 1);
}

TEST_CASE_METHOD(
    fixture, "[requirement W4] errors of the server are retried, then it lists again"
) {
    list_done();
    for (int i = 0; i < 5; ++i) {
        watching();
        CHECK_FALSE(feed(error_event(500, R"(,"reason":"InternalError")")));
        sleeps(800ms, 60s);
    }
    CHECK(next() == "list(limit=2 continue= version=)");
}

TEST_CASE_METHOD(fixture, "[requirement W4] other errors back off and list again") {
    list_done();
    watching();
    CHECK_FALSE(feed(error_event(400, R"(,"reason":"BadRequest")")));
    sleeps(800ms, 1600ms);
    CHECK(next().substr(0, 4) == "list");
}

TEST_CASE_METHOD(fixture, "[requirement V5] too large a version backs off, then lists unset") {
    const std::string which = GENERATE(as<std::string>(), "by cause", "by text");
    INFO(which);
    api_error error = status(504, "Timeout");
    if (which == "by cause") {
        error.causes.push_back({"ResourceVersionTooLarge", "", ""});
    }
    if (which == "by text") {
        error.message = "Too large resource version: 100, current: 7";
    }
    list_done();
    for (int i = 0; i < 3; ++i) {
        watching();
        fsm.on_watch_error(now, error);
        sleeps(800ms, 10s);
    }
    CHECK(next() == "list(limit=2 continue= version=)");
}

TEST_CASE_METHOD(fixture, "[requirement W1] a bookmark moves the resume point and nothing else") {
    list_done();
    watching();
    const std::string log = sink.log;
    CHECK(feed(event("BOOKMARK", pod("", "250"))));
    CHECK(sink.log == log);
    CHECK(sink.seen == "250");
    fsm.on_watch_end(now + 5min);
    CHECK(next() == "watch(250)");
}

TEST_CASE_METHOD(
    fixture, "[requirement W2] a watch that ends in order is renewed at once, no list"
) {
    list_done();
    for (int i = 0; i < 5; ++i) {
        watching();
        CHECK(last.timeout >= 300s);
        CHECK(last.timeout < 600s);
        now += 5min;
        fsm.on_watch_end(now);
    }
    CHECK(fsm.counters().errors == 0);
    CHECK(fsm.counters().lists == 1);
    CHECK(fsm.counters().watches == 5);
}

TEST_CASE_METHOD(fixture, "[requirement W3] very short watches are failures, then mean expiry") {
    list_done();
    watching();
    now += 500ms;
    fsm.on_watch_end(now);
    sleeps(800ms, 1600ms);
    watching();
    now += 1500ms;  // short, but not very short: no backoff
    fsm.on_watch_end(now);
    watching();
    now += 500ms;
    fsm.on_watch_end(now);
    sleeps(1600ms, 3200ms);
    CHECK(next() == "list(limit=2 continue= version=100)");
}

TEST_CASE_METHOD(fixture, "[requirement W9] a header that was held back makes no watch short") {
    list_done();
    for (int i = 0; i < 5; ++i) {
        REQUIRE(next() == "watch(100)");
        now += 30s;
        fsm.on_watch_open(now);
        fsm.on_watch_end(now);
    }
    CHECK(fsm.counters().errors == 0);
    CHECK(fsm.counters().lists == 1);
}

TEST_CASE_METHOD(
    fixture,
    "[requirement W3] [requirement R6] a bookmark makes a short watch no failure, nor hasty"
) {
    list_done();
    for (int i = 1; i < 10; ++i) {
        watching(std::to_string(99 + i));
        feed(event("BOOKMARK", pod("", std::to_string(100 + i))));
        fsm.on_watch_end(now);
        sleeps(800ms, 60s);
    }
    CHECK(fsm.counters().errors == 0);
    CHECK(fsm.counters().lists == 1);
}

TEST_CASE_METHOD(fixture, "[requirement V6] a bookmark that goes backwards rebuilds all") {
    list_done();
    watching();
    CHECK_FALSE(feed(event("BOOKMARK", pod("", "99"))));
    CHECK(fsm.counters().rewinds == 1);
    CHECK(fsm.last_error().find("went backwards from 100 to 99") != std::string::npos);
    sleeps(800ms, 1600ms);
    CHECK(next() == "list(limit=2 continue= version=)");
    fsm.on_list(now, page({}, "99"));
    CHECK(sink.seen == "99");
    CHECK(sink.log == "begin item:a end:100 rewound begin end:99 ");
    CHECK(sink.after_rewinds == 1);
    CHECK(fsm.counters().rewinds == 1);
    CHECK(next() == "watch(99)");
    CHECK_FALSE(fsm.last_error().empty());  // told until the next watch is open
    fsm.on_watch_open(now);
    CHECK(fsm.last_error().empty());
}

TEST_CASE_METHOD(fixture, "[requirement V6] a list that goes backwards is told before its items") {
    list_done();
    watching();
    CHECK_FALSE(feed(error_event(410)));
    next();
    fsm.on_list(now, page({pod("a", "3")}, "90", "more"));
    next();
    fsm.on_list(now, page({pod("b", "4")}, "90"));
    CHECK(sink.log == "begin item:a end:100 rewound begin item:a item:b end:90 ");
    CHECK(sink.after_rewinds == 1);
}

TEST_CASE_METHOD(
    fixture,
    "[requirement V6] [requirement T4] after silence the server is asked whether it went back"
) {
    list_done();
    watching();
    CHECK(last.idle == 90s);
    now += 90s;
    fsm.on_watch_error(now, broken(errc::timeout));
    CHECK(fsm.doubtful());
    CHECK(next() == "probe(100)");
    CHECK(last.list.limit == 1);
    CHECK(last.list.resource_version.empty());
    CHECK(last.list.label_selector == "a=b");
    sink.log.clear();
    SECTION("it did not") {
        fsm.on_probe(now, page({pod("a", "5")}, GENERATE("100", "200"), "more"));
        CHECK_FALSE(fsm.doubtful());
        CHECK(fsm.heard_at() == now);
        CHECK(next() == "watch(100)");
        CHECK(sink.log.empty());
    }
    SECTION("it went back") {
        fsm.on_probe(now, page({}, "99"));
        CHECK(sink.log == "rewound ");
        CHECK(next() == "list(limit=2 continue= version=)");
        fsm.on_list(now, page({pod("b", "7")}, "101"));  // and on, meanwhile
        CHECK(sink.log == "rewound begin item:b end:101 ");
        CHECK(sink.after_rewinds == 1);
        CHECK(next() == "watch(101)");
        CHECK(fsm.counters().rewinds == 1);
    }
    SECTION("it does not answer") {
        fsm.on_probe(now, broken(errc::connect));
        sleeps(800ms, 1600ms);
        CHECK(fsm.doubtful());
        CHECK(next() == "probe(100)");
        api_error busy = status(429);
        busy.retry_after = 5s;
        fsm.on_probe(now, busy);
        sleeps(5s, 6s);
        CHECK(next() == "probe(100)");
        fsm.on_probe(now, page({}, "100"));
        CHECK(next() == "watch(100)");
    }
    SECTION("cancelled") {
        fsm.on_probe(now, broken(errc::cancelled));
        CHECK(next() == "finish");
    }
}

TEST_CASE_METHOD(fixture, "[requirement V6] doubt of others makes a probe, between watches only") {
    fsm.doubt();
    CHECK(next() == "list(limit=2 continue= version=)");
    fsm.doubt();
    fsm.on_list(now, page({}, "100"));
    CHECK(next() == "watch(100)");
    fsm.doubt();
    CHECK(next() == "probe(100)");
}

TEST_CASE_METHOD(fixture, "[requirement V6] what another resource has shown makes a list, once") {
    fsm.start_over();
    CHECK(sink.log.empty());
    list_done();
    watching();
    sink.log.clear();
    fsm.start_over();
    fsm.start_over();
    CHECK(sink.log == "rewound ");
    CHECK(next() == "list(limit=2 continue= version=)");
    fsm.on_list(now, page({pod("a", "3")}, "80", "more"));
    fsm.start_over();  // that list is the one
    next();
    fsm.on_list(now, page({}, "80"));
    CHECK(sink.log == "rewound begin item:a end:80 ");
    fsm.start_over();
    CHECK(sink.log == "rewound begin item:a end:80 rewound ");
    next();
    fsm.on_list(now, page({pod("a", "3")}, "90", "more"));
    CHECK(next() == "list(limit=2 continue=more version=)");
    CHECK(sink.after_rewinds == 1);
}

TEST_CASE_METHOD(fixture, "[requirement W12] when the server was last heard") {
    list_done();
    CHECK(fsm.heard_at() == now);
    now += 10s;
    REQUIRE(next() == "watch(100)");
    CHECK(fsm.heard_at() == now - 10s);
    fsm.on_watch_open(now);
    CHECK(fsm.heard_at() == now);
    now += 10s;
    feed(event("BOOKMARK", pod("", "101")));
    CHECK(fsm.heard_at() == now);
    now += 10s;
    fsm.on_watch_error(now, broken(errc::connection_lost));
    CHECK(fsm.heard_at() == now - 10s);
}

TEST_CASE_METHOD(
    fixture, "[requirement W8] events change the store; an old one moves no version back"
) {
    list_done();
    watching();
    CHECK(feed(event("ADDED", pod("b", "101")) + event("MODIFIED", pod("a", "102"))));
    CHECK(feed(event("DELETED", pod("b", "103")) + event("MODIFIED", pod("c", "50"))));
    CHECK(sink.log == "begin item:a end:100 upsert:b upsert:a remove:b upsert:c ");
    CHECK(sink.seen == "103");
    now += 1s;
    fsm.on_watch_end(now);
    CHECK(next() == "watch(103)");
    CHECK(fsm.counters().events == 4);
}

TEST_CASE_METHOD(
    fixture, "[requirement W7] unknown events are counted, change nothing, and end it"
) {
    list_done();
    watching();
    CHECK_FALSE(feed(event("PURGED", pod("a", "101"))));
    CHECK(fsm.counters().skipped == 1);
    CHECK(sink.held.count("a") == 1);
    sleeps(800ms, 1600ms);
    CHECK(next() == "watch(100)");
}

TEST_CASE_METHOD(
    fixture, "[requirement W7] objects of another kind break the stream, not the store"
) {
    list_done();
    watching();
    CHECK_FALSE(feed(event("ADDED", R"({"kind":"Table","metadata":{"resourceVersion":"7"}})")));
    CHECK(sink.log == "begin item:a end:100 ");
    sleeps(800ms, 1600ms);
    CHECK(next() == "watch(100)");
}

TEST_CASE_METHOD(fixture, "[requirement W6] a stream cut within an event counts as lost") {
    list_done();
    watching();
    const std::string line = event("ADDED", pod("b", "101"));
    for (std::size_t size = 1; size + 1 < line.size(); ++size) {
        INFO("cut after " << size);
        REQUIRE(feed(line.substr(0, size)));
        fsm.on_watch_end(now);
        now += 3min;
        REQUIRE(next().substr(0, 5) == "sleep");
        watching();
    }
    CHECK(sink.held.count("b") == 0);
    CHECK(fsm.counters().lists == 1);
}

TEST_CASE_METHOD(fixture, "[requirement H1] stop ends it in every phase and drops half a list") {
    const std::string which = GENERATE(
        as<std::string>(),
        "before the first list",
        "within a list",
        "while it sleeps",
        "while it watches"
    );
    INFO(which);
    if (which == "within a list") {
        next();
        fsm.on_list(now, page({pod("a", "1")}, "1", "t"));
    }
    if (which == "while it sleeps") {
        next();
        fsm.on_list(now, broken(errc::connect));
    }
    if (which == "while it watches") {
        list_done();
        watching();
    }
    sink.log.clear();
    fsm.stop();
    CHECK(next() == "finish");
    CHECK(sink.log == (which == "within a list" ? "abort " : ""));
}

TEST_CASE_METHOD(fixture, "[requirement H1] a cancelled request ends it without an error") {
    const std::string which = GENERATE(as<std::string>(), "list", "watch");
    INFO(which);
    if (which == "list") {
        next();
        fsm.on_list(now, broken(errc::cancelled));
    }
    if (which == "watch") {
        list_done();
        watching();
        fsm.on_watch_error(now, broken(errc::cancelled));
    }
    CHECK(next() == "finish");
    CHECK(fsm.counters().errors == 0);
}

TEST_CASE_METHOD(fixture, "[requirement W12] the last error shows and goes when all is well") {
    next();
    fsm.on_list(now, status(403, "Forbidden"));
    CHECK(fsm.last_error() == "403 Forbidden");
    sleeps(800ms, 1600ms);
    list_done();
    CHECK(fsm.last_error().empty());
    CHECK(next() == "watch(100)");
    fsm.on_watch_error(now, broken(errc::connect));
    CHECK(fsm.last_error() == "no connection");
    sleeps(800ms, 4s);
    watching();
    CHECK(fsm.last_error().empty());
}
